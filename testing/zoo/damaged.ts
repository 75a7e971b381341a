import { byHeader, smallPicture, type ZooEntry, zooFormats } from "./entry.ts";

const percents = [35, 60, 85];

/** Cut files; less than a third may not be enough to tell the format. */
const cut: readonly ZooEntry[] = zooFormats.flatMap((format) =>
  percents.map((percent) => ({
    name: `the first ${percent} % of a ${format}`,
    outcome: byHeader("upload_unreadable"),
    async make() {
      const bytes = await smallPicture(format);
      return bytes.subarray(0, Math.floor((bytes.length * percent) / 100));
    },
  })),
);

/** One changed byte, at places from the start to the end. */
const changed: readonly ZooEntry[] = zooFormats.flatMap((format) =>
  [5, 30, 55, 80, 97].map((percent) => ({
    name: `a ${format} with another byte at ${percent} %`,
    outcome: { either: true },
    async make() {
      const bytes = await smallPicture(format);
      const at = Math.floor((bytes.length * percent) / 100);
      bytes.writeUInt8(bytes.readUInt8(at) ^ 0xff, at);
      return bytes;
    },
  })),
);

export const damaged: readonly ZooEntry[] = [...cut, ...changed];
