/**
 * Boards: pictures of a user under a name.
 *
 * Terms. Board: pictures that were put there one by one. Saved search: a board with a search in place of pictures; it shows
 * what the search finds at that moment, and nothing is put on it.
 *
 *     live ──removeBoard──▶ removed ──undoDeleteMs──▶ gone
 *       ◀───restoreBoard──────┘
 *
 * A board is shared with users of the studio, its members: they see the pictures of all who put some there, and with the right
 * to add they put own ones beside them. A user who is suspended shares nothing meanwhile.
 *
 * Rules. A board only names its pictures: taking one out, or removing the board, deletes no picture. A deleted picture is not
 * counted, and is back on its boards when it is restored.
 */
export { boardRights, isNotTurnedOn, isSharedWith } from "./access.ts";
export {
  addToBoard,
  boardPicturesSchema,
  changeBoard,
  changeBoardSchema,
  createBoard,
  createBoardSchema,
  orderBoards,
  orderBoardsSchema,
  purgeBoards,
  removeBoard,
  restoreBoard,
  takeFromBoard,
} from "./boards.ts";
export { type BoardView, getBoard, listBoards } from "./read.ts";
export { countSaved } from "./saved.ts";
export {
  type BoardMember,
  boardMemberSchema,
  leaveBoard,
  listBoardMembers,
  shareBoard,
  unshareBoard,
} from "./members.ts";
export {
  copyFromBoard,
  getSharedBoard,
  listSharedBoards,
  listSharedPictures,
  openSharedPicture,
  type SharedBoard,
  type SharedPicture,
  sharedPicturesSchema,
} from "./shared.ts";
