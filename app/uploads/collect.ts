"use client";

/** Beside the pictures of a folder: lists, side files and films that cameras and systems put there. */
const besides =
  /^\.|^(?:thumbs\.db|desktop\.ini)$|\.(?:aae|xmp|thm|lrv|ini|db|txt|json|html?|xml|pdf|zip|mov|mp4|m4v|avi|3gp|mp3|m4a|wav)$/i;
const otherTypes = /^(?:video|audio|text)\/|^application\/(?:pdf|zip|json)/;

/** Whether a file of many is sent: the content decides, but what is surely no picture costs nothing. */
export function mayBePicture({ name, type, size }: Pick<File, "name" | "type" | "size">): boolean {
  if (type.startsWith("image/") && !name.startsWith(".")) return true;
  return size > 0 && !besides.test(name) && !otherTypes.test(type);
}

/** Folders in which systems keep previews and what was thrown away. */
const ofSystem = /^\.|^(?:@eaDir|__MACOSX|\$RECYCLE\.BIN)$/i;

/** All files below an entry of a drop, folders within folders too. What cannot be read is left out. */
async function filesBelow(entry: FileSystemEntry): Promise<File[]> {
  if (isFile(entry)) {
    const file = await new Promise<File>((resolve, reject) => entry.file(resolve, reject)).catch(() => null);
    return file ? [file] : [];
  }
  if (!isFolder(entry)) return [];
  const reader = entry.createReader();
  const files: File[] = [];
  for (;;) {
    // A reader gives at most a hundred at a time, and then an empty list.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    ).catch((): FileSystemEntry[] => []);
    if (some.length === 0) return files;
    for (const each of some)
      if (!each.isDirectory || !ofSystem.test(each.name)) files.push(...(await filesBelow(each)));
  }
}

const isFile = (entry: FileSystemEntry): entry is FileSystemFileEntry => entry.isFile;
const isFolder = (entry: FileSystemEntry): entry is FileSystemDirectoryEntry => entry.isDirectory;

const entriesOf = (data: DataTransfer) =>
  [...data.items].filter(({ kind }) => kind === "file").map((item) => item.webkitGetAsEntry());

const linkTypes: readonly string[] = ["text/uri-list", "text/x-moz-url"];
const textFields = "input, textarea, [contenteditable]";

/**
 * Whether the browser would open what is dropped instead of the page: a link, a picture of another page, or one of our own beside
 * its goal. A field takes it as text.
 */
export function wouldLeavePage({
  defaultPrevented,
  dataTransfer,
  target,
}: Pick<DragEvent, "defaultPrevented" | "dataTransfer" | "target">): boolean {
  const types = dataTransfer?.types ?? [];
  if (defaultPrevented || types.includes("Files")) return false;
  const isField = target instanceof Element && target.closest(textFields) !== null;
  return !isField && linkTypes.some((type) => types.includes(type));
}

/** The files of a drop or of the clipboard without folders, which browsers name among the files. */
export function filesOf(data: DataTransfer | null): File[] {
  if (!data) return [];
  const entries = entriesOf(data);
  return [...data.files].filter((_, at) => entries[at]?.isDirectory !== true);
}

/** In the clipboard of some systems the text beside a file is its name, or where it lies. */
function isNameOf(line: string, files: readonly File[]): boolean {
  const last = line.trim().split(/[\\/]/).at(-1) ?? "";
  const isName = (text: string) => files.some(({ name }) => name === text);
  try {
    return isName(last) || isName(decodeURIComponent(last));
  } catch {
    return false;
  }
}

/** Safari copies a picture with its address as the text. A cell with an address has no picture in its HTML. */
const isAddressOf = (text: string, html: string) => /^https?:\S+$/.test(text) && /^$|<img/i.test(html);

/** What file managers of Linux put above the places of files. */
const heading = /^x-special\/\S+\s+\w+\s/;

/**
 * The files of a paste. In a field, text goes before files: office programs add a picture of the copied text, which must not be
 * uploaded.
 */
export function pastedFiles({
  clipboardData,
  target,
}: Pick<ClipboardEvent, "clipboardData" | "target">): File[] {
  const files = filesOf(clipboardData);
  const isField = target instanceof Element && target.closest(textFields) !== null;
  if (!clipboardData || !isField) return files;
  const text = clipboardData.getData("text/plain").trim().replace(heading, "");
  return text === "" ||
    isAddressOf(text, clipboardData.getData("text/html")) ||
    text.split(/[\r\n]+/).every((line) => isNameOf(line, files))
    ? files
    : [];
}

/** The files of a drop with all files of the folders. The data of an event is there only until something is awaited. */
export function allFilesOf(data: DataTransfer | null): Promise<File[]> {
  const plain = filesOf(data);
  const folders = data
    ? entriesOf(data)
        .filter((entry) => entry !== null)
        .filter(isFolder)
    : [];
  return Promise.all(folders.map(filesBelow)).then((found) => [...plain, ...found.flat()]);
}
