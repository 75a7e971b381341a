import { pngChunk, withJpegSegment, withPngChunk } from "../pictures/index.ts";
import { byHeader, smallPicture, type ZooEntry, zooFormats } from "./entry.ts";

const payloads: Readonly<Record<string, string>> = {
  "a page": "<!DOCTYPE html><html><body>x</body></html>",
  "a script": "\n<script>alert(1)</script>",
  "a frame": '<iframe src="https://example.test/">',
  "a PHP script": "<?php system($_GET[0]); ?>",
  "an SVG": '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>',
  "a PDF": "%PDF-1.7\n1 0 obj\n<<>>\nendobj\n",
  "a ZIP": `PK\x03\x04not reallyPK\x05\x06${"\0".repeat(18)}`,
};

const polyglotOutcome = byHeader("upload_unsupported");
const latin1 = (text: string) => Buffer.from(text, "latin1");

const behind = zooFormats.flatMap((format) =>
  Object.entries(payloads).map(([what, payload]) => ({
    name: `a ${format} with ${what} behind it`,
    outcome: polyglotOutcome,
    make: async () => Buffer.concat([await smallPicture(format), latin1(payload)]),
  })),
);

const inside = Object.entries(payloads)
  .filter(([what]) => what !== "a ZIP")
  .flatMap(([what, payload]) => [
    {
      name: `a jpeg with ${what} in a comment`,
      outcome: polyglotOutcome,
      make: async () => withJpegSegment(await smallPicture("jpeg"), 0xfe, latin1(payload)),
    },
    {
      name: `a png with ${what} in a text`,
      outcome: polyglotOutcome,
      make: async () =>
        withPngChunk(await smallPicture("png"), pngChunk("tEXt", latin1(`Comment\0${payload}`))),
    },
  ]);

/** Pictures that another program reads as something else. */
export const polyglots: readonly ZooEntry[] = [...behind, ...inside];
