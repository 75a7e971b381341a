/**
 * Duplicates: pictures of one owner that look the same.
 *
 * Terms. Likeness: what a picture looks like, as a hash of 64 bits. Pair: two pictures that were compared and look the same; they
 * were encoded again, in another size, a little cropped, lighter or darker. Group: what pairs hold together. The same bytes are
 * no duplicates: an upload of them is stored once.
 *
 *     new picture ──await_likeness──▶ waiting ──comparePictures──▶ compared, with its pairs
 *     pair: proposed ──mergeDuplicates──▶ all but one in the trash ──undoMerge──▶ proposed
 *                    ──dismissDuplicates──▶ dismissed
 *
 * Rules. Nobody's pictures are compared with those of another user. Pictures of one stack (versions, results of a batch) are never
 * a pair: their owner made them to differ. A hash only finds what is worth a look; the thumbnails decide. The search grows with
 * the new pictures and not with the square of all: each looks up the four parts of its hash in an index.
 */
export { comparePictures, duplicateDuty, likenessDuty } from "./find.ts";
export {
  type DuplicateGroup,
  type DuplicatePage,
  keepReasons,
  listDuplicates,
  listDuplicatesSchema,
} from "./groups.ts";
export {
  dismissDuplicates,
  dismissSchema,
  type Merge,
  mergeAllDuplicates,
  mergeAllSchema,
  mergeDuplicates,
  mergeSchema,
  undoMergeSchema,
} from "./merge.ts";
export { undoMerge, undoMerges, undoMergesSchema } from "./undo.ts";
