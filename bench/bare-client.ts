import { randomUUID } from "node:crypto";

/** A server and what is run there. */
export interface BareRun {
  readonly url: string;
  readonly graph: Readonly<Record<string, unknown>>;
}

/**
 * The reference: what a script without any studio does. POST /prompt, the socket until the prompt has ended, /history for
 * the file's name, GET /view; the bytes of the picture. It asks for previews as the studio does, and drops them.
 */
export async function runBare({ url, graph }: BareRun): Promise<Uint8Array> {
  const clientId = randomUUID();
  const socket = new WebSocket(`${url.replace("http", "ws")}/ws?clientId=${clientId}`);
  try {
    await new Promise((resolve, reject) => {
      socket.addEventListener("open", resolve, { once: true });
      socket.addEventListener("error", reject, { once: true });
    });
    const ended = untilEnded(socket);
    const answer = await fetch(`${url}/prompt`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      // Else the server would be spared what it does for the studio.
      body: JSON.stringify({ prompt: graph, client_id: clientId, extra_data: { preview_method: "auto" } }),
    });
    const { prompt_id: promptId }: { prompt_id?: string } = JSON.parse(await answer.text());
    if (!promptId) throw new Error(`the prompt was refused: ${answer.status}`);
    ended.expect(promptId);
    await ended.promise;
    return await view(url, promptId);
  } finally {
    socket.close();
  }
}

/** Waits for `executing null` of a prompt, which may come before its id is known. */
function untilEnded(socket: WebSocket) {
  const { promise, resolve } = Promise.withResolvers<void>();
  const seen = new Set<string>();
  let expected: string | null = null;
  socket.addEventListener("message", ({ data }) => {
    if (typeof data !== "string") return;
    const message: { type: string; data: { node?: string | null; prompt_id?: string } } = JSON.parse(data);
    if (message.type !== "executing" || message.data.node !== null) return;
    seen.add(message.data.prompt_id ?? "");
    if (expected && seen.has(expected)) resolve();
  });
  return {
    promise,
    expect(promptId: string) {
      expected = promptId;
      if (seen.has(promptId)) resolve();
    },
  };
}

interface Picture {
  readonly filename: string;
  readonly subfolder: string;
  readonly type: string;
}

type History = Record<string, { outputs: Record<string, { images?: Picture[] }> }>;

async function view(url: string, promptId: string): Promise<Uint8Array> {
  const history: History = JSON.parse(await (await fetch(`${url}/history/${promptId}`)).text());
  const [picture] = Object.values(history[promptId]?.outputs ?? {}).flatMap(({ images }) => images ?? []);
  if (!picture) throw new Error("the prompt made no picture");
  const { filename, subfolder, type } = picture;
  const answer = await fetch(`${url}/view?${new URLSearchParams({ filename, subfolder, type }).toString()}`);
  return new Uint8Array(await answer.arrayBuffer());
}
