/**
 * Links: addresses that show pictures to people without an account.
 *
 *     (createLink) ──▶ open ──its time passes──▶ ended ──changeLink──▶ open
 *                       │ ▲                        │
 *            revokeLink ▼ │ restoreLink            │ 30 days
 *                    revoked ──undoDeleteMs──▶ gone ◀┘
 *
 * Terms. Token: the secret part of the address, of which the database has only a hash; so the address is shown once. Proof:
 * what a browser holds after it gave the password. A link shows pictures of its own list, or the results of one batch
 * or its owner's pictures on one board as they are at each visit.
 *
 * Rules. What has ended, was revoked, has lost its last picture or belongs to a suspended account looks like what never was.
 * A visitor gets no id of owner, job or batch, no title of a picture's file and no prompt; pictures leave through
 * `openPicture` alone, the original only where the owner allows it. Stored originals have no metadata but the mark of origin.
 */
export {
  changeLink,
  changeLinkSchema,
  createLink,
  createLinkSchema,
  getLink,
  type LinkView,
  listLinks,
  purgeLinks,
  restoreLink,
  revokeLink,
} from "./links.ts";
export { openPicture, proveVisit, type ShownLink, type ShownPicture, visitLink, noteView } from "./visit.ts";
export { readSigned, signPicture } from "./signed.ts";
