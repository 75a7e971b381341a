import type { BatchInput } from "@atelier/server/batches";
import type { OfferedWorkflow } from "../client/queries.ts";
import { categoryFor, type OutfitRequest, outfitRequest } from "./state.ts";
import { type Category } from "../client/wardrobe.ts";

/** A garment of an outfit. */
export interface Piece {
  readonly imageId: string;
  readonly category: Category;
}

/** Pieces of one outfit: as many as an engine takes in one run, and as a batch takes passes. */
export const mostPieces = 4;

/** The inputs of an outfit, in the order of its pieces. */
export const garmentRoles = ["garment", "garment2", "garment3", "garment4"] as const;
const furtherRoles = garmentRoles.slice(1);

/** Whether an engine dresses so many pieces in one run; null is the local engine, which dresses one. */
export function takesAtOnce(workflow: Pick<OfferedWorkflow, "inputs"> | null, count: number): boolean {
  if (count < 2) return true;
  const roles: readonly string[] = workflow?.inputs.map(({ role }) => role) ?? [];
  return furtherRoles.slice(0, count - 1).every((role) => roles.includes(role));
}

/** What is worn below comes first: a dress, then trousers and skirts, then the rest in the order of the user. */
const rank: Readonly<Record<Category, number>> = { dress: 0, bottom: 1, auto: 2, top: 2 };

export function inPassOrder(pieces: readonly Piece[]): readonly Piece[] {
  return pieces.toSorted((a, b) => rank[a.category] - rank[b.category]);
}

interface Outfit {
  readonly person: string;
  readonly pieces: readonly Piece[];
  readonly mask: string | null;
  readonly prompt: string;
  /** null: the engine of this computer. */
  readonly workflow: OfferedWorkflow | null;
}

/** One run, or passes that follow each other as one order. */
export type Plan =
  | { readonly way: "run"; readonly request: OutfitRequest }
  | { readonly way: "passes"; readonly input: BatchInput; readonly count: number };

/** How an outfit is made; null without a piece. Each pass but the first dresses the result of the one before. */
export function planOutfit({ person, pieces, mask, prompt, workflow }: Outfit): Plan | null {
  const [first, ...others] = pieces;
  if (first === undefined) return null;
  const settings = { person, mask, prompt, workflow };
  if (takesAtOnce(workflow, pieces.length)) {
    const category = others.length === 0 ? first.category : "auto";
    const request = outfitRequest({ ...settings, garment: first.imageId, category });
    const further = others.map(({ imageId }, at) => [furtherRoles[at], imageId]);
    return {
      way: "run",
      request: { ...request, inputs: { ...request.inputs, ...Object.fromEntries(further) } },
    };
  }
  const requests = inPassOrder(pieces).map(({ imageId, category }) =>
    outfitRequest({ ...settings, garment: imageId, category }),
  );
  const [begin, ...rest] = requests;
  if (begin === undefined) return null;
  // Of a step the person is the result before it.
  const steps = rest.map((request) => ({
    ...request,
    inputs: Object.fromEntries(Object.entries(request.inputs ?? {}).filter(([role]) => role !== "person")),
  }));
  return { way: "passes", input: { jobs: [{ ...begin, steps }] }, count: requests.length };
}

/** Pieces of which the later one would cover an earlier one of the same kind. */
export function hidesOne(pieces: readonly Piece[], workflow: OfferedWorkflow | null): boolean {
  const known = pieces
    .map(({ category }) => categoryFor(workflow, category))
    .filter((category) => category !== "auto");
  const isWhole = known.includes("dress") && known.length > 1;
  return isWhole || new Set(known).size < known.length;
}
