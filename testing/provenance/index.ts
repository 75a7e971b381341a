import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { c2paFolder, ensureC2paReader } from "../../scripts/test/pip-files.ts";
import { killAtExit } from "../processes/index.ts";

interface ReadAction {
  readonly action: string;
  readonly digitalSourceType?: string;
  readonly when?: string;
  readonly softwareAgent?: { readonly name: string };
  readonly parameters?: Readonly<Record<string, unknown>>;
}

interface ReadManifest {
  readonly instance_id: string;
  readonly claim_generator_info: readonly { readonly name: string; readonly version?: string }[];
  readonly assertions: readonly {
    readonly label: string;
    readonly data: { readonly actions?: readonly ReadAction[] };
  }[];
  readonly ingredients?: readonly {
    readonly instance_id?: string;
    readonly relationship: string;
    readonly description?: string;
    readonly active_manifest?: string;
  }[];
  readonly signature_info: { readonly alg: string; readonly issuer: string };
}

export interface ReadFile {
  /** As the reader calls it: `Valid` also for signers that nobody vouches for. */
  readonly state: "Valid" | "Invalid" | "Trusted";
  readonly failures: readonly string[];
  /** Of the file, and of all that it was made of. */
  readonly manifests: Readonly<Record<string, ReadManifest>>;
  readonly active: ReadManifest;
  readonly actions: readonly ReadAction[];
}

/** Answers each file that is named in a line of its input with a line: to load the library takes longer than to read a picture. */
const script = `
import sys, json
sys.path.insert(0, sys.argv[1])
import c2pa
for line in sys.stdin:
    try:
        reader = c2pa.Reader(json.loads(line))
        answer = {"state": reader.get_validation_state(), "store": json.loads(reader.json())}
        reader.close()
    except c2pa.C2paError as error:
        answer = {"error": str(error)}
    print(json.dumps(answer), flush=True)
`;

interface Answer {
  readonly error?: string;
  readonly state: ReadFile["state"];
  readonly store: {
    readonly active_manifest: string;
    readonly manifests: ReadFile["manifests"];
    readonly validation_results?: {
      readonly activeManifest: { readonly failure: readonly { readonly code: string }[] };
    };
  };
}

/** The reader, which ends with this process; asks for one file after another. */
function startReader(): (file: string) => Promise<Answer> {
  if (!ensureC2paReader()) throw new Error("The reader of C2PA could not be installed.");
  const child = spawn("python3", ["-c", script, c2paFolder], { stdio: ["pipe", "pipe", "inherit"] });
  killAtExit(child);
  child.unref();
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let last: Promise<unknown> = Promise.resolve();
  const ask = async (file: string) => {
    child.stdin.write(`${JSON.stringify(file)}\n`);
    const { value, done } = await lines.next();
    if (done) throw new Error("The reader of C2PA has ended.");
    // The shape is the reader's own; the tests name what they expect of it.
    return JSON.parse(value) as Answer;
  };
  return (file) => {
    const answer = last.then(() => ask(file));
    last = answer.catch(() => undefined);
    return answer;
  };
}

let read: ReturnType<typeof startReader> | undefined;

/** What another implementation of C2PA reads in a file; null when it finds no manifest. */
export async function readByOthers(
  bytes: Buffer,
  extension: "png" | "jpeg" | "webp",
): Promise<ReadFile | null> {
  read ??= startReader();
  const folder = await mkdtemp(path.join(os.tmpdir(), "atelier-c2pa-"));
  try {
    const file = path.join(folder, `picture.${extension}`);
    await writeFile(file, bytes);
    const { error, state, store } = await read(file);
    if (error?.startsWith("ManifestNotFound")) return null;
    const active = store.manifests[store.active_manifest];
    if (error !== undefined || !active) throw new Error(error ?? "no active manifest");
    const failures = (store.validation_results?.activeManifest.failure ?? []).map(({ code }) => code);
    return {
      state,
      failures,
      manifests: store.manifests,
      active,
      actions: active.assertions.flatMap(({ data }) => data.actions ?? []),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
