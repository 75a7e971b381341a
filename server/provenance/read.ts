import { SuperBox } from "@trustnxt/c2pa-ts/jumbf";
import { type Manifest, ManifestStore, type RelationshipType } from "@trustnxt/c2pa-ts/manifest";
import { childrenOf, labelOf, openContainer, readStore } from "./containers.ts";
import { hashOfBox } from "./sign.ts";

/** `changed`: the statement is whole and the file is no longer the one that it was made for. */
export type StatementState = "valid" | "changed" | "broken";

export interface StatedStep {
  /** Such as `c2pa.created`. */
  readonly action: string;
  readonly digitalSourceType: string | null;
  readonly software: string | null;
  readonly at: Date | null;
}

/** The job of a studio that made the picture. */
interface Maker {
  /** Of the signers of the active manifest, of the one that tells of the job, and of all between them. */
  readonly fingerprints: readonly string[];
  readonly madeAt: Date | null;
}

/** What the active manifest of a file says, and whether its signature holds. */
export interface Statement {
  readonly state: StatementState;
  /** Name in the signer's certificate; nobody vouches for it here. */
  readonly signer: string | null;
  /** SHA-256 of that certificate, lower-case hex. */
  readonly fingerprint: string | null;
  readonly generator: string | null;
  readonly steps: readonly StatedStep[];
  /** Ids of the file and of what it was made of, the file's first. */
  readonly instanceIds: readonly string[];
  /** Null for a picture that says of no job, such as an upload that was stored with the manifest of a camera. */
  readonly maker: Maker | null;
}

const none = {
  signer: null,
  fingerprint: null,
  generator: null,
  steps: [],
  instanceIds: [],
  maker: null,
} as const;
/** More than any program writes. */
const maxBytes = 8 * 1024 ** 2;
const maxTextLength = 200;

/** Null for a file without a manifest. Never throws: whatever is wrong with a manifest makes it `broken`. */
export async function readStatement(bytes: Uint8Array): Promise<Statement | null> {
  try {
    const asset = openContainer(bytes);
    const jumbf = asset && readStore(asset);
    if (!asset || !jumbf) return null;
    if (jumbf.length > maxBytes) return { ...none, state: "broken" };
    const store = ManifestStore.read(SuperBox.fromBuffer(new Uint8Array(jumbf)));
    const active = store.getActiveManifest();
    if (!active) return { ...none, state: "broken" };
    const { isValid, statusEntries } = await store.validate(asset);
    const faults = statusEntries.filter(({ success }) => !success).map(({ code }) => String(code));
    const maker = await findMaker(active, store, childrenOf(jumbf));
    return { ...(await describe(active, store)), maker, state: isValid ? "valid" : stateOf(faults) };
  } catch {
    return mayHold(bytes) ? { ...none, state: "broken" } : null;
  }
}

function stateOf(faults: readonly string[]): StatementState {
  return faults.every((code) => code === "assertion.dataHash.mismatch") ? "changed" : "broken";
}

function mayHold(bytes: Uint8Array): boolean {
  try {
    return openContainer(bytes)?.getManifestJUMBF() !== undefined;
  } catch {
    return false;
  }
}

async function describe(active: Manifest, store: ManifestStore): Promise<Omit<Statement, "state" | "maker">> {
  const names = active.signature?.signatureData.certificate?.subjectName;
  const { claimGeneratorName: name, claimGeneratorVersion: version } = active.claim ?? {};
  return {
    signer: textOf([...(names?.getField("CN") ?? []), ...(names?.getField("O") ?? [])].join(", ")),
    fingerprint: await fingerprintOf(active),
    generator: textOf([name, version].filter(Boolean).join(" ")),
    steps: (active.assertions?.getActionAssertions() ?? []).flatMap(stepsOf),
    // The active one is the last; those before it are what it was made of.
    instanceIds: store.manifests.flatMap(({ claim }) => claim?.instanceID ?? []).toReversed(),
  };
}

async function fingerprintOf({ signature }: Manifest): Promise<string | null> {
  const certificate = signature?.signatureData.certificate;
  return certificate ? Buffer.from(await certificate.getThumbprint("SHA-256")).toString("hex") : null;
}

const maxCopies = 20;

/** Follows the copies of a picture, in other formats or as an upload, back to the manifest that tells of a job. */
async function findMaker(
  active: Manifest,
  store: ManifestStore,
  raw: readonly Uint8Array[],
): Promise<Maker | null> {
  const fingerprints: string[] = [];
  let manifest: Manifest | undefined = active;
  while (manifest && fingerprints.length < maxCopies) {
    fingerprints.push((await fingerprintOf(manifest)) ?? "");
    const assertions: readonly Actions[] = manifest.assertions?.getActionAssertions() ?? [];
    if (assertions.some(tellsOfJob))
      return { fingerprints, madeAt: assertions.flatMap(stepsOf).at(-1)?.at ?? null };
    manifest = parentOf(manifest, store, raw);
  }
  return null;
}

const tellsOfJob = ({ actions }: Actions) =>
  actions.some(({ parameters }) => parameters !== undefined && "atelier.kind" in parameters);

/** The manifest of what a file is a copy of, if it was whole when the copy was made and is the same one still. */
function parentOf(
  { assertions }: Manifest,
  store: ManifestStore,
  raw: readonly Uint8Array[],
): Manifest | undefined {
  const [parent] = assertions?.getIngredientsByRelationship("parentOf" as RelationshipType) ?? [];
  const { activeManifest, validationResults } = parent ?? {};
  if (!activeManifest || validationResults?.activeManifest.failure.length !== 0) return undefined;
  const label = activeManifest.uri.split("/").at(-1) ?? "";
  const [found, another] = raw.filter((box) => labelOf(box) === label);
  if (!found || another || !Buffer.from(hashOfBox(found)).equals(activeManifest.hash)) return undefined;
  return store.getManifestByLabel(label);
}

type Actions = ReturnType<NonNullable<Manifest["assertions"]>["getActionAssertions"]>[number];

function stepsOf(assertion: Actions): StatedStep[] {
  const times = timesOf(assertion);
  return assertion.actions.map(({ action, digitalSourceType, softwareAgent }, at) => ({
    action: textOf(action) ?? "",
    digitalSourceType: textOf(digitalSourceType),
    software: textOf(softwareAgent?.name),
    at: times[at] ?? null,
  }));
}

/** The library leaves out when an action was; the box that it read has it. */
function timesOf({ sourceBox }: Actions): (Date | null)[] {
  const [box] = sourceBox?.contentBoxes ?? [];
  const content: unknown = box && "content" in box ? box.content : null;
  const actions: unknown =
    content && typeof content === "object" && "actions" in content ? content.actions : null;
  if (!Array.isArray(actions)) return [];
  return actions.map((action: unknown) => {
    const when: unknown = action && typeof action === "object" && "when" in action ? action.when : null;
    const time = when instanceof Date ? when : typeof when === "string" ? new Date(when) : null;
    return time && Number.isFinite(time.getTime()) ? time : null;
  });
}

/** One short line, as foreign text is shown. */
function textOf(value: unknown): string | null {
  if (typeof value !== "string") return null;
  return (
    value
      .replaceAll(/[\p{Cc}\p{Cf}]/gu, " ")
      .trim()
      .slice(0, maxTextLength) || null
  );
}
