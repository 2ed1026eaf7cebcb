// The API key of the console. It is stored for the tab or, if the user chooses so, for the browser. It is sent only to
// this service, in a header, and never appears in an address.

const name = 'sluice.key';

/** @returns {string} the key, or "" if nobody is signed in */
export function key() {
  return sessionStorage.getItem(name) ?? localStorage.getItem(name) ?? '';
}

/**
 * @param {string} secret
 * @param {boolean} stay whether to keep the key after the tab is closed
 */
export function signIn(secret, stay) {
  signOut();
  (stay ? localStorage : sessionStorage).setItem(name, secret);
}

/**
 * The rights of the key, as reported by the service. The console offers only what they allow; the service enforces
 * them.
 * @type {{secret: string, scopes: string[], agentId: string | null}}
 */
let rights = { secret: '', scopes: [], agentId: null };

/** @param {string[]} scopes @param {string | null} agentId id of the only agent that the key may ask */
export function setRights(scopes, agentId) {
  rights = { secret: key(), scopes, agentId };
}

export const may = {
  /** Whether the rights of the key are known. */
  known: () => rights.secret !== '' && rights.secret === key(),
  write: () => rights.scopes.includes('write'),
  read: () => rights.scopes.includes('write') || rights.scopes.includes('read'),
  /** The only agent that the key may ask, or "" if the key may do more. */
  onlyAsk: () => rights.agentId ?? '',
};

export function signOut() {
  sessionStorage.removeItem(name);
  localStorage.removeItem(name);
}
