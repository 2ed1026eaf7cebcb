// The key that the console calls the service with. It is kept for the tab, or for the browser when the person asks for
// that; it is sent to this service alone, in a header, and is in no address.

const name = 'sluice.key';

/** @returns {string} the key, "" when nobody is signed in */
export function key() {
  return sessionStorage.getItem(name) ?? localStorage.getItem(name) ?? '';
}

/**
 * @param {string} secret
 * @param {boolean} stay whether it outlives the tab
 */
export function signIn(secret, stay) {
  signOut();
  (stay ? localStorage : sessionStorage).setItem(name, secret);
}

/**
 * What the key may do, as the service has said: the console offers nothing else. The service refuses it anyway.
 * @type {{secret: string, scopes: string[], agentId: string | null}}
 */
let rights = { secret: '', scopes: [], agentId: null };

/** @param {string[]} scopes @param {string | null} agentId of the one agent that it may ask */
export function setRights(scopes, agentId) {
  rights = { secret: key(), scopes, agentId };
}

export const may = {
  /** Whether it is known what the key may do. */
  known: () => rights.secret !== '' && rights.secret === key(),
  write: () => rights.scopes.includes('write'),
  read: () => rights.scopes.includes('write') || rights.scopes.includes('read'),
  /** The one agent that the key may ask, "" when it may do more. */
  onlyAsk: () => rights.agentId ?? '',
};

export function signOut() {
  sessionStorage.removeItem(name);
  localStorage.removeItem(name);
}
