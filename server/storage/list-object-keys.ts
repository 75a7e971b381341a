import type { Disk } from "flydrive";
import { storageFailure } from "./storage-failure.ts";

/** Every key below `prefix`, page by page. Throws `storage_unavailable`. */
export async function* listObjectKeys(disk: Disk, prefix: string): AsyncGenerator<string[]> {
  let paginationToken: string | undefined;
  do {
    const page = await listPage(disk, prefix, paginationToken);
    yield page.keys;
    paginationToken = page.next;
  } while (paginationToken);
}

async function listPage(disk: Disk, prefix: string, paginationToken: string | undefined) {
  try {
    const options = paginationToken ? { recursive: true, paginationToken } : { recursive: true };
    const page = await disk.listAll(`${prefix}/`, options);
    const keys = [...page.objects].filter((object) => object.isFile).map((object) => object.key);
    return { keys, next: page.paginationToken };
  } catch (error) {
    throw storageFailure(error);
  }
}
