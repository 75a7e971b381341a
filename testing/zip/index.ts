export { readZip } from "./read-zip.ts";
