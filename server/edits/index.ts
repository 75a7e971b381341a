/**
 * Edits: what the editor holds of a picture, so that it can be left and opened again on any device.
 *
 * Terms. Base: the picture that an edit began with; each picture is the base of one edit at the most. Version: a picture of
 * the edit; versions are a tree. Mark: a step of a version's mask. Writer: one page that saves.
 *
 *     (none) ──save at revision 0──▶ 1 ──save at 1──▶ 2 ──▶ …        a save at another revision than the stored: `conflict`
 *
 * Rules. A save replaces the whole state, and only the revision that its writer has read. Versions are named and not owned:
 * pictures are read with the owner's rights elsewhere, and a state may name pictures that were deleted since. Masks that a
 * state names are kept by `edit_masks`. No knowledge of how marks look.
 */
export { getEdit, listEdits, listEditsSchema, removeEdit, saveEdit, saveEditSchema } from "./store.ts";
export type { EditState } from "./state.ts";
