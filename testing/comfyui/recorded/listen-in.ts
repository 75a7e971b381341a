import WebSocket from "ws";
import { objectOf, parseJson } from "../json.ts";

/** A socket of a client with all that it has heard, in the form of the recording. */
export interface Ear {
  readonly heard: unknown[];
  readonly socket: WebSocket;
  /** Resolves once a heard message fits; looks at the ones of the past too. */
  until(fits: (message: Record<string, unknown>) => boolean): Promise<void>;
  /** Waits for `executing null` of a prompt. */
  untilEnd(promptId: string): Promise<void>;
  /** What was heard since the last call. */
  take(): unknown[];
  close(): void;
}

/** Connects; `wantsMetadata` asks for event 4. */
export async function listenIn(url: string, clientId: string, wantsMetadata = false): Promise<Ear> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/ws?clientId=${clientId}`);
  const heard: unknown[] = [];
  const checks = new Set<() => void>();
  let taken = 0;
  socket.on("message", (data, isBinary) => {
    const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.from(new Uint8Array(data));
    heard.push(isBinary ? describeFrame(bytes) : parseJson(bytes.toString()));
    for (const check of checks) check();
  });
  const until: Ear["until"] = (fits) =>
    new Promise((resolve) => {
      const check = () => {
        if (!heard.some((message) => fits(objectOf(message)))) return;
        checks.delete(check);
        resolve();
      };
      checks.add(check);
      check();
    });
  await new Promise((resolve, reject) => {
    socket.once("open", resolve);
    socket.once("error", reject);
  });
  socket.on("error", () => socket.terminate());
  if (wantsMetadata) {
    socket.send(JSON.stringify({ type: "feature_flags", data: { supports_preview_metadata: true } }));
    await until((message) => message.type === "feature_flags");
  }
  return {
    heard,
    socket,
    until,
    untilEnd: (promptId) =>
      until(({ type, data }) => {
        const { node, prompt_id: id } = objectOf(data);
        return type === "executing" && node === null && id === promptId;
      }),
    take: () => {
      const fresh = heard.slice(taken);
      taken = heard.length;
      return fresh;
    },
    close: () => socket.close(),
  };
}

const plainEvent = 1;
const textEvent = 3;

function describeFrame(bytes: Buffer): unknown {
  const event = bytes.readUInt32BE(0);
  const magicOf = (picture: Buffer) => picture.subarray(0, 8).toString("hex");
  if (event === plainEvent) {
    const picture = bytes.subarray(8);
    return {
      binary_event: event,
      format: bytes.readUInt32BE(4),
      magic: magicOf(picture),
      len: picture.length,
    };
  }
  if (event === textEvent) {
    const idEnd = 8 + bytes.readUInt32BE(4);
    return {
      binary_event: event,
      node: bytes.toString("utf8", 8, idEnd),
      text: bytes.toString("utf8", idEnd),
    };
  }
  const metaEnd = 8 + bytes.readUInt32BE(4);
  const meta = parseJson(bytes.subarray(8, metaEnd).toString());
  return { binary_event: event, len: bytes.length, meta, magic: magicOf(bytes.subarray(metaEnd)) };
}
