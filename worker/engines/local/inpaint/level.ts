/** One scale of the picture that is being filled. */
export interface Level {
  /** Three floats per pixel, 0..255. */
  readonly image: Float32Array;
  /** 1 where the picture is unknown. */
  readonly mask: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/** Patches are squares of 2 * patchRadius + 1 pixels. */
export const patchRadius = 3;
