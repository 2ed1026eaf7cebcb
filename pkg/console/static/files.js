// The files of a drop or a choice, those in folders with their paths.

/** @typedef {{file: File, path: string}} Found */

/**
 * Whether a file is one that systems leave behind, which nobody means to upload.
 * @param {string} path
 */
const isHidden = (path) => path.split('/').some((part) => part.startsWith('.') || part === 'Thumbs.db' || part === 'desktop.ini' || part === '__MACOSX');

/**
 * @param {FileList} list of an input
 * @returns {Found[]}
 */
export function chosen(list) {
  return [...list].map((file) => ({ file, path: file.webkitRelativePath || file.name })).filter(({ path }) => !isHidden(path));
}

/**
 * What was dropped, folders gone through. It must be called while the drop is handled: afterwards the browser has
 * forgotten it.
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
    if (file) found.push({ file, path }); // one that cannot be read is gone, or not ours to read
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    // A reader gives a hundred at a time, and none at its end.
    const some = await new Promise((resolve) => reader.readEntries(resolve, () => resolve([])));
    if (some.length === 0) return;
    for (const inside of some) await walk(inside, `${path}/${inside.name}`, found);
  }
}
