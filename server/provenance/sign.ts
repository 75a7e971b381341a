import {
  DataHashAssertion,
  type Action,
  ActionAssertion,
  ClaimVersion,
  IngredientAssertion,
  type Manifest,
  ManifestStore,
  type RelationshipType,
  ValidationResult,
} from "@trustnxt/c2pa-ts/manifest";
import { type IBox, SuperBox } from "@trustnxt/c2pa-ts/jumbf";
import { Tag } from "cbor-x";
import about from "../package.json" with { type: "json" };
import type { StudioSigner } from "./certificate.ts";
import { childrenOf, labelOf, openContainer, readStore, withManifestsBefore } from "./containers.ts";
import { createHash } from "node:crypto";

/** A step of how a picture was made, in words of C2PA. */
export interface Step {
  /** Such as `c2pa.created`; a manifest begins with that or `c2pa.opened`. */
  readonly action: string;
  readonly digitalSourceType?: string;
  /** The program or model that did it. */
  readonly agent?: string;
  /** Positions in the list of ingredients. */
  readonly of?: readonly number[];
  readonly parameters?: Readonly<Record<string, string>>;
}

/** A picture that another was made of. */
export interface Ingredient {
  readonly relationship: "parentOf" | "componentOf" | "inputTo";
  readonly instanceId: string;
  readonly mime: string;
  readonly sha256: string;
  /** The file, for the manifest that it carries; null when it is gone. */
  readonly bytes: Uint8Array | null;
}

/** What a manifest says. */
export interface Story {
  readonly instanceId: string;
  readonly mime: string;
  readonly steps: readonly Step[];
  readonly ingredients: readonly Ingredient[];
  readonly madeAt: Date;
}

/** Above this the manifests of an ingredient stay behind; its hash and id are still named. */
const maxKeptBytes = 2 * 1024 ** 2;
/**
 * Room for the signature, which the library measures only when it is there; what is left of it stays above the 24 bytes at
 * which a length is written shorter.
 */
const signaturePadBytes = 128;
const sha256 = "SHA-256";

/**
 * The same picture with a manifest that is signed now, instead of one that it had. The manifests of its ingredients are kept as they are.
 * Throws for a file in which no manifest fits.
 */
export async function signPicture(
  bytes: Uint8Array,
  story: Story,
  signer: StudioSigner,
): Promise<Buffer<ArrayBuffer>> {
  const asset = openContainer(bytes);
  if (!asset) throw new Error("This format holds no manifest.");
  const kept: KeptManifests = new Map();
  const store = new ManifestStore();
  const { instanceId: instanceID, mime: assetFormat } = story;
  const manifest = store.createManifest({
    claimVersion: ClaimVersion.V2,
    assetFormat,
    instanceID,
    defaultHashAlgorithm: sha256,
    signer,
  });
  nameGenerator(manifest);
  const binding = DataHashAssertion.create(sha256);
  manifest.addAssertion(binding);
  await addStory(manifest, story, kept);
  const before = [...kept.values()];
  const roomBytes = store.measureSize() + before.reduce((sum, { length }) => sum + length, 0);
  await asset.ensureManifestSpace(roomBytes);
  await binding.updateWithAsset(asset);
  await manifest.sign(signer);
  await asset.writeManifestJUMBF(withManifestsBefore(store.getBytes(), before));
  return Buffer.from(await asset.getDataRange());
}

function nameGenerator({ claim, signature }: Manifest): void {
  if (!claim || !signature) throw new Error("A manifest has a claim and a signature.");
  claim.claimGeneratorName = "Atelier";
  claim.claimGeneratorVersion = about.version;
  signature.signatureData.paddingLength = signaturePadBytes;
}

/** Raw manifests by label, in the order of their origin. */
type KeptManifests = Map<string, Uint8Array>;

async function addStory(manifest: Manifest, { steps, ingredients, madeAt }: Story, kept: KeptManifests) {
  const added: IngredientAssertion[] = [];
  for (const [at, ingredient] of ingredients.entries()) {
    const assertion = await ingredientAssertion(ingredient, kept);
    // The label of each further one gets a number.
    if (at > 0) assertion.labelSuffix = at;
    manifest.addAssertion(assertion);
    added.push(assertion);
  }
  const actions = new TimedActions(madeAt);
  actions.actions = steps.map(({ action, digitalSourceType, agent, of = [], parameters }) => ({
    action,
    ...(digitalSourceType === undefined ? {} : { digitalSourceType }),
    softwareAgent: agent === undefined ? { name: "Atelier", version: about.version } : { name: agent },
    parameters: {
      ...parameters,
      ...(of.length === 0
        ? {}
        : {
            ingredients: of.flatMap((at) => {
              const assertion = added[at];
              return assertion ? [manifest.createAssertionReference(assertion)] : [];
            }),
          }),
    },
    // The names that the library lists are those of the specification; it takes others as well.
  })) as Action[];
  manifest.addAssertion(actions);
}

/** The library leaves out when each action was. */
class TimedActions extends ActionAssertion {
  override label = "c2pa.actions.v2";
  readonly #when: string;

  constructor(when: Date) {
    super();
    this.#when = when.toISOString();
  }

  override generateJUMBFBoxForContent(
    claim: Parameters<ActionAssertion["generateJUMBFBoxForContent"]>[0],
  ): IBox {
    const box = super.generateJUMBFBoxForContent(claim) as IBox & {
      content: { actions: Record<string, unknown>[] };
    };
    for (const action of box.content.actions) action["when"] = new Tag(this.#when, 0);
    return box;
  }
}

async function ingredientAssertion(
  { relationship, instanceId, mime, sha256: hash, bytes }: Ingredient,
  kept: KeptManifests,
): Promise<IngredientAssertion> {
  const assertion = IngredientAssertion.createV3(relationship as RelationshipType);
  assertion.format = mime;
  assertion.instanceID = instanceId;
  assertion.description = `SHA-256 ${hash}`;
  const found = bytes && keepManifests(bytes, kept);
  if (!found || !bytes) return assertion;
  const { label, manifest } = found;
  assertion.activeManifest = {
    uri: `self#jumbf=/c2pa/${label}`,
    hash: hashOfBox(manifest),
    algorithm: sha256,
  };
  const signature = childrenOf(manifest).find((box) => labelOf(box) === "c2pa.signature");
  if (signature)
    assertion.claimSignature = {
      uri: `self#jumbf=/c2pa/${label}/c2pa.signature`,
      hash: hashOfBox(signature),
      algorithm: sha256,
    };
  assertion.validationResults = await resultsOf(bytes);
  return assertion;
}

/** Of a box as others refer to it: without its length and type. */
export function hashOfBox(box: Uint8Array): Uint8Array {
  return new Uint8Array(createHash("sha256").update(box.subarray(8)).digest());
}

/** Whether a file has a manifest that a copy of it can keep. Never throws. */
export function hasManifest(bytes: Uint8Array): boolean {
  return keepManifests(bytes, new Map()) !== null;
}

/** Takes the manifests out of a file, raw; null when it has none, too many bytes of them, or one of a label that is taken. */
function keepManifests(
  bytes: Uint8Array,
  kept: KeptManifests,
): { label: string; manifest: Uint8Array } | null {
  const jumbf = manifestsIn(bytes);
  if (!jumbf || jumbf.length > maxKeptBytes) return null;
  const found = childrenOf(jumbf).map((manifest) => ({ label: labelOf(manifest), manifest }));
  const isTaken = ({ label, manifest }: (typeof found)[number]) => {
    const known = kept.get(label);
    return known !== undefined && !Buffer.from(known).equals(manifest);
  };
  const active = found.at(-1);
  if (!active || found.some(isTaken)) return null;
  for (const { label, manifest } of found) kept.set(label, manifest);
  return active;
}

/** The store of manifests in a file, raw; null without one and for a damaged file. */
function manifestsIn(bytes: Uint8Array): Uint8Array | null {
  try {
    const asset = openContainer(bytes);
    return (asset && readStore(asset)) ?? null;
  } catch {
    return null;
  }
}

/** What is found about the manifest of an ingredient at this moment, for those who can no longer see its file. */
async function resultsOf(bytes: Uint8Array): Promise<NonNullable<IngredientAssertion["validationResults"]>> {
  const found = (await validate(bytes)).toRepresentation();
  const of = (isIn: (status: (typeof found)[number]) => boolean) =>
    found.filter(isIn).map(({ success: _success, ...status }) => status);
  return {
    activeManifest: {
      success: of(({ success }) => success === true),
      informational: [],
      failure: of(({ success }) => success !== true),
    },
  };
}

/** Checks signature, assertions and bytes of a file's active manifest. Never throws. */
async function validate(bytes: Uint8Array): Promise<ValidationResult> {
  try {
    const asset = openContainer(bytes);
    const jumbf = asset && readStore(asset);
    if (!asset || !jumbf) return new ValidationResult();
    return await ManifestStore.read(SuperBox.fromBuffer(new Uint8Array(jumbf))).validate(asset);
  } catch (error) {
    return ValidationResult.fromError(error instanceof Error ? error : new Error(String(error)));
  }
}
