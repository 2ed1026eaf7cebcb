// Finds the files that the user dropped or chose, and their paths within folders.

/** @typedef {{file: File, path: string}} Found */

/**
 * Whether a file is hidden or was created by the operating system. Users do not mean to upload such files.
 * @param {string} path
 */
const isHidden = (path) => path.split('/').some((part) => part.startsWith('.') || part === 'Thumbs.db' || part === 'desktop.ini' || part === '__MACOSX');

/**
 * @param {FileList} list the files of an input element
 * @returns {Found[]}
 */
export function chosen(list) {
  return [...list].map((file) => ({ file, path: file.webkitRelativePath || file.name })).filter(({ path }) => !isHidden(path));
}

/**
 * Returns the dropped files, including those in folders. It must be called while the drop event is handled; afterwards
 * the browser no longer provides the files.
 * @param {DataTransfer} data
 * @returns {Promise<Found[]>}
 */
export async function dropped(data) {
  const entries = [...data.items].filter((item) => item.kind === 'file').map((item) => item.webkitGetAsEntry?.() ?? item.getAsFile());
  /** @type {Found[]} */
  const found = [];
  for (const entry of entries) {
    if (entry instanceof File) found.push({ file: entry, path: entry.name });
    else if (entry) await walk(/** @type {any} */ (entry), entry.name, found);
  }
  return found.filter(({ path }) => !isHidden(path));
}

/**
 * @param {any} entry a FileSystemEntry
 * @param {string} path
 * @param {Found[]} found
 */
async function walk(entry, path, found) {
  if (entry.isFile) {
    const file = await new Promise((resolve) => entry.file(resolve, () => resolve(null)));
    if (file) found.push({ file, path }); // null: the file was deleted, or the user may not read it
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    // A reader returns up to a hundred entries at a time, and an empty list at the end.
    const some = await new Promise((resolve) => reader.readEntries(resolve, () => resolve([])));
    if (some.length === 0) return;
    for (const inside of some) await walk(inside, `${path}/${inside.name}`, found);
  }
}
