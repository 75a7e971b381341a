import { APIError } from "better-auth/api";
import { lineOfText } from "../platform/index.ts";
import { isReservedEmail, maxEmailLength, maxUserNameLength } from "./accounts.ts";

const maxBanReasonLength = 1_000;

/** Columns of a user that a sign-up or a change may set. */
interface UserData {
  readonly email?: unknown;
  readonly name?: unknown;
  readonly image?: unknown;
  readonly banReason?: unknown;
  readonly isAnonymous?: unknown;
}

/**
 * Checks the columns that a person fills in, before a user is stored or changed; columns that are absent stay absent.
 * Throws the library's API error, which is answered as 400.
 */
export function checkUserData(data: UserData): { data: { name?: string; image?: null; banReason?: string } } {
  checkEmail(data);
  const name = nameSchema.optional().safeParse(data.name);
  if (!name.success) refuse("INVALID_NAME", `A name is one line of at most ${maxUserNameLength} characters.`);
  // An avatar from another site would let that site track the viewers of the page.
  if (data.image) refuse("INVALID_IMAGE", "Accounts have no picture.");
  const banReason = banReasonSchema.nullish().safeParse(data.banReason);
  if (!banReason.success)
    refuse("INVALID_BAN_REASON", `A reason is one line of at most ${maxBanReasonLength} characters.`);
  return {
    data: {
      ...(name.data === undefined ? {} : { name: name.data }),
      ...(data.image === undefined ? {} : { image: null }),
      ...(typeof banReason.data === "string" ? { banReason: banReason.data } : {}),
    },
  };
}

const nameSchema = lineOfText.trim().max(maxUserNameLength);
const banReasonSchema = lineOfText.trim().max(maxBanReasonLength);

function checkEmail({ email, isAnonymous }: UserData): void {
  if (typeof email !== "string" || isAnonymous === true) return;
  if (email.length > maxEmailLength)
    refuse("INVALID_EMAIL", `An e-mail address has at most ${maxEmailLength} characters.`);
  if (isReservedEmail(email)) refuse("INVALID_EMAIL", "E-mail addresses below .invalid are reserved.");
}

/** Throws the library's API error, which is answered as 400. */
export function refuse(code: string, message: string): never {
  throw new APIError("BAD_REQUEST", { code, message });
}
