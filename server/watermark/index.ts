/**
 * A watermark that nobody sees: a number of 32 bits in the brightness of a picture, which survives a JPEG of quality 75, half the size
 * or a cut edge. It leads to the picture's record when its manifest is gone.
 *
 * - tile: a square of 128 px that repeats over the picture; a tile is 64 × 64 chips of 2 px, each a little brighter or darker.
 * - some chips are the same in each picture, by which a reader finds where a tile begins (sync); the others are each part of a bit.
 *
 * The pattern is no secret: it proves nothing, the manifest does. Nothing but pixels here, since a child process loads it.
 */
export { findMark } from "./find.ts";
export { markPixels } from "./embed.ts";
