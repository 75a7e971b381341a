export { addGuest, addUser } from "./add-user.ts";
export { withJpegSegment, withJpegSize } from "./jpeg-parts.ts";
export { listObjects, listTempFiles } from "./list-objects.ts";
export { readFileOf, readRow, rowsOf } from "./read-stored.ts";
export { cornersPicture, readCorners, readSample } from "./pictures.ts";
export { pngChunk, pngFile, pngHeader, withPngChunk } from "./png-parts.ts";
