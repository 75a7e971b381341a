/** The same JPEG with a segment put right behind its SOI. */
export function withJpegSegment(jpeg: Buffer, marker: number, payload: Buffer): Buffer {
  const head = Buffer.from([0xff, marker, 0, 0]);
  head.writeUInt16BE(payload.length + 2, 2);
  return Buffer.concat([jpeg.subarray(0, 2), head, payload, jpeg.subarray(2)]);
}

/** The same JPEG with another size in its frame header. */
export function withJpegSize(jpeg: Buffer, size: { widthPx: number; heightPx: number }): Buffer {
  const changed = Buffer.from(jpeg);
  const frame = changed.findIndex((byte, at) => byte === 0xff && isFrame(changed[at + 1]));
  changed.writeUInt16BE(size.heightPx, frame + 5);
  changed.writeUInt16BE(size.widthPx, frame + 7);
  return changed;
}

function isFrame(marker: number | undefined): boolean {
  return marker === 0xc0 || marker === 0xc2;
}
