/**
 * A watermark that nobody sees: a number of 32 bits in the brightness of a picture, which survives a JPEG of quality 75, other sizes
 * and a cut edge. It leads to the picture's record when its manifest is gone.
 *
 * - tile: a square that repeats over the picture, 192 px (128 px in marks of before, which are still found); a tile is 64 × 64
 *   chips, each a little brighter or darker.
 * - some chips are the same in each picture, by which a reader finds where a tile begins (sync); the others are each part of a bit.
 * - cell: half a chip. A reader lays all tiles on one another in 128 × 128 cells and tries how many pixels a cell has.
 *
 * The pattern is no secret: it proves nothing, the manifest does. Nothing but pixels here, since a child process loads it.
 */
export { findMark } from "./find.ts";
export { markPixels } from "./embed.ts";
