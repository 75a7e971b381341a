import { domainToASCII } from "node:url";
import { APIError } from "better-auth/api";
import { lineOfText } from "../platform/index.ts";

export const maxUserNameLength = 100;
export const maxEmailLength = 254;
const maxBanReasonLength = 1_000;

/**
 * An address as it is stored: a domain in other letters becomes the ASCII form that mail servers and the fields of
 * browsers use.
 */
export function mailAddress(written: string): string {
  const [, name = "", domain = ""] = /^(.*)@([^@]*)$/s.exec(written.trim()) ?? [];
  const host = domainToASCII(domain);
  return (host === "" ? written.trim() : `${name}@${host}`).toLowerCase();
}

/** Guests and the workers' account have addresses below `.invalid`, which RFC 6761 reserves: no mail reaches them. */
export function isReservedEmail(email: string): boolean {
  return /[@.]invalid\.?$/i.test(email.trim());
}

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
