import { APIError } from "better-auth/api";
import { lineOfText } from "../platform/index.ts";

export const maxUserNameLength = 100;
export const maxEmailLength = 254;
const maxBanReasonLength = 1_000;

/** What a sign-up or a change may carry of the columns that people fill in. */
interface UserData {
  readonly email?: unknown;
  readonly name?: unknown;
  readonly image?: unknown;
  readonly banReason?: unknown;
  readonly isAnonymous?: unknown;
}

const nameSchema = lineOfText.trim().max(maxUserNameLength);
const banReasonSchema = lineOfText.trim().max(maxBanReasonLength);

/** Guests and the workers' account have addresses below `.invalid`, which RFC 6761 reserves: no mail reaches them. */
export function isReservedEmail(email: string): boolean {
  return /[@.]invalid\.?$/i.test(email.trim());
}

function refuse(code: string, message: string): never {
  throw new APIError("BAD_REQUEST", { code, message });
}

function checkEmail({ email, isAnonymous }: UserData): void {
  if (typeof email !== "string" || isAnonymous === true) return;
  if (email.length > maxEmailLength)
    refuse("INVALID_EMAIL", `An e-mail address has at most ${maxEmailLength} characters.`);
  if (isReservedEmail(email)) refuse("INVALID_EMAIL", "E-mail addresses below .invalid are reserved.");
}

/**
 * Checks the columns that a person fills in, before a user is stored or changed; columns that are absent stay absent.
 * Throws the library's API error, which is answered as 400.
 */
export function checkUserData(data: UserData): { data: { name?: string; image?: null; banReason?: string } } {
  checkEmail(data);
  const name = nameSchema.optional().safeParse(data.name);
  if (!name.success) refuse("INVALID_NAME", `A name is one line of at most ${maxUserNameLength} characters.`);
  // A picture from another site would tell that site who looks at the page.
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
