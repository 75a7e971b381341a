// Active content that other programs would find in the file: pages, scripts and documents.
const activeText = /<(?:html|script|iframe)[\s/>]|<!doctype\s+html|<\?php\s|<svg\s+[a-z:]+\s*=|%pdf-\d/i;

const zipEnd = Buffer.from([0x50, 0x4b, 0x05, 0x06]);
const zipEndBytes = 22;

/** Names what else a picture file is (a polyglot), or null. Compressed pixels are never searched, so chance cannot hit. */
export function foreignContent(bytes: Buffer, extras: readonly Buffer[]): string | null {
  if (endsAsZip(bytes)) return "application/zip";
  const found = extras.some((extra) => activeText.test(extra.toString("latin1")));
  return found ? "text/html" : null;
}

/** A ZIP is read from its end: a directory record whose comment ends exactly where the file does. */
function endsAsZip(bytes: Buffer): boolean {
  const tail = bytes.subarray(Math.max(0, bytes.length - zipEndBytes - 0xffff));
  for (
    let at = tail.indexOf(zipEnd);
    at >= 0 && at + zipEndBytes <= tail.length;
    at = tail.indexOf(zipEnd, at + 1)
  ) {
    if (at + zipEndBytes + tail.readUInt16LE(at + 20) === tail.length) return true;
  }
  return false;
}
