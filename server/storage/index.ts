export { openDisk } from "./disk.ts";
export type { Disk } from "flydrive";
