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

export function signOut() {
  sessionStorage.removeItem(name);
  localStorage.removeItem(name);
}
