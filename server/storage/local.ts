import { mkdir, open, opendir, rename, rm, rmdir, stat } from "node:fs/promises";
import path from "node:path";
import { FSDriver } from "flydrive/drivers/fs";
import { newId } from "../platform/index.ts";
import type { FoundObject, ListedObject, ListedPage, OpenObject, StoreDriver } from "./driver.ts";

/** Objects of a page. Each page reads the folder that it begins in once more, which may have a folder for each picture. */
const usualPageSize = 10_000;

/** Files below a folder, each written to a temporary name, flushed and renamed: the final name always has all bytes. */
export class LocalDriver extends FSDriver implements StoreDriver {
  readonly #root: string;
  readonly #pageSize: number;

  constructor(root: string, pageSize = usualPageSize) {
    super({ location: root, visibility: "private" });
    this.#root = root;
    this.#pageSize = pageSize;
  }

  override async put(key: string, contents: string | Uint8Array): Promise<void> {
    const file = path.join(this.#root, key);
    await mkdir(path.dirname(file), { recursive: true, mode: 0o700 });
    const draft = `${file}.${newId()}.part`;
    try {
      const handle = await open(draft, "wx", 0o600);
      try {
        await handle.writeFile(contents);
        await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(draft, file);
    } catch (error) {
      await rm(draft, { force: true }).catch(() => undefined);
      throw error;
    }
  }

  async open(key: string): Promise<OpenObject | null> {
    const handle = await open(path.join(this.#root, key), "r").catch(nullIfAbsent);
    if (!handle) return null;
    try {
      const { size } = await handle.stat();
      return { stream: handle.createReadStream(), sizeBytes: size };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async find(key: string): Promise<FoundObject | null> {
    const found = await stat(path.join(this.#root, key)).catch(nullIfAbsent);
    return found && { sizeBytes: found.size, modifiedAt: found.mtime };
  }

  /** In the order of the keys; the token is the last one, so that files may come and go meanwhile. */
  async listPage(prefix: string, token = ""): Promise<ListedPage> {
    const objects: ListedObject[] = [];
    for await (const key of this.#keysAfter(prefix, token.slice(prefix.length + 1))) {
      objects.push({ key, readMetaData: () => this.find(key) });
      if (objects.length === this.#pageSize) return { objects, next: key };
    }
    return { objects };
  }

  /** The keys of the files below a folder behind one, which is said without the folder. */
  async *#keysAfter(folder: string, after: string): AsyncGenerator<string> {
    const inside = after.slice(0, after.indexOf("/") + 1);
    if (inside !== "") yield* this.#keysAfter(`${folder}/${inside.slice(0, -1)}`, after.slice(inside.length));
    for (let begin = inside || after; ;) {
      const names = await namesAfter(path.join(this.#root, folder), begin, this.#pageSize);
      for (const name of names) {
        if (name.endsWith("/")) yield* this.#keysAfter(`${folder}/${name.slice(0, -1)}`, "");
        else yield `${folder}/${name}`;
      }
      const last = names.at(-1);
      if (last === undefined || names.length < this.#pageSize) return;
      begin = last;
    }
  }

  /** Flushes the folders, which hold the file names: without it a power cut can lose the name of a flushed file. */
  async flush(keys: readonly string[]): Promise<void> {
    const folders = new Set<string>();
    for (const key of keys) {
      for (let at = path.posix.dirname(key); at !== "."; at = path.posix.dirname(at)) folders.add(at);
    }
    await Promise.all([...folders].map((folder) => syncFolder(path.join(this.#root, folder))));
  }

  /** Removes empty parent folders, too, so that they do not pile up. */
  async removeBelow(prefix: string): Promise<void> {
    await this.deleteAll(prefix);
    for (let parent = path.posix.dirname(prefix); parent.includes("/"); parent = path.posix.dirname(parent)) {
      try {
        await rmdir(path.join(this.#root, parent));
      } catch {
        // Not empty, or already gone: in both cases the folders above must stay.
        return;
      }
    }
  }

  /** Files are written whole. */
  async endUploads(): Promise<number> {
    return 0;
  }

  async signPut(): Promise<null> {
    return null;
  }

  async signGet(): Promise<null> {
    return null;
  }

  close(): void {}
}

/**
 * The first names in a folder behind one; those of folders end with a slash. No more are kept than twice as many as are asked
 * for, however many there are.
 */
async function namesAfter(folder: string, after: string, most: number): Promise<string[]> {
  const entries = await opendir(folder, { bufferSize: 1_024 }).catch(nullIfAbsent);
  let names: string[] = [];
  for await (const entry of entries ?? []) {
    if (!entry.isFile() && !entry.isDirectory()) continue;
    const name = entry.isFile() ? entry.name : `${entry.name}/`;
    if (name > after) names.push(name);
    if (names.length >= 2 * most) names = names.toSorted().slice(0, most);
  }
  return names.toSorted().slice(0, most);
}

/** What file systems say that flush no folder: network shares (SMB), FUSE, and Windows. */
const noFlush = new Set(["EINVAL", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EPERM", "EISDIR", "EBADF"]);

/**
 * Flushes the names in a folder: without it a power cut can lose that of a file whose content was flushed. Where the file
 * system cannot, it keeps the names in its own way.
 */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } catch (error) {
    if (!noFlush.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
  } finally {
    await handle.close();
  }
}

function nullIfAbsent(error: NodeJS.ErrnoException): null {
  if (error.code === "ENOENT" || error.code === "ENOTDIR") return null;
  throw error;
}
