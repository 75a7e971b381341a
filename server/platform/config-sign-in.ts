import { z } from "zod";
import { namesLoopback } from "./addresses.ts";
import { parseForeignJson } from "./text.ts";

const maxListed = 200;
const groupNames = z.array(z.string().min(1).max(300)).max(maxListed).default([]);

/** Over plain http the code and the secret could be read on the way, except within this machine. */
function isSafeIssuer(text: string): boolean {
  const url = URL.parse(text);
  if (!url || url.username !== "" || url.search !== "" || url.hash !== "") return false;
  return url.protocol === "https:" || (url.protocol === "http:" && namesLoopback(url.host));
}

/** An OpenID Connect provider; its secret is in OIDC_CLIENT_SECRETS. See docs/sign-in.md. */
const identityProviderSchema = z.strictObject({
  /** On the button of the sign-in page. */
  name: z.string().trim().min(1).max(60),
  /** The address below which `/.well-known/openid-configuration` is, exactly as the provider spells it. */
  issuer: z
    .string()
    .max(500)
    .refine(
      isSafeIssuer,
      "must be an address like https://id.example.org/realms/studio, with https:// unless it is on this machine",
    ),
  clientId: z.string().trim().min(1).max(300),
  /** How the secret is sent; unset: as the provider's discovery says. */
  clientAuth: z.enum(["basic", "post"]).optional(),
  /** `openid` is always among them. */
  scopes: z.array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/)).default(["openid", "profile", "email"]),
  /** The claim with the groups; dots lead into objects, as in `realm_access.roles`. */
  groupsClaim: z.string().min(1).max(200).default("groups"),
  /** Who may come in; empty: everybody whom the provider lets sign in. Admins of `adminGroups` always may. */
  allowedGroups: groupNames,
  /** Who is an admin, decided again at each sign-in; empty: the provider decides nothing about roles. */
  adminGroups: groupNames,
  /** Whoever may come in gets an account, whatever SIGN_UP is. */
  opensEntry: z.boolean().default(false),
  /** A first sign-in is linked to the account with the same verified address, unless anybody could have made that account. */
  linksByEmail: z.boolean().default(false),
  /** Addresses are verified although the provider does not say so. One that it calls unverified stays unverified. */
  trustsEmail: z.boolean().default(false),
  /** It asks for a second factor itself: whoever comes through it counts as an admin with one. */
  asksSecondFactor: z.boolean().default(false),
  /** Signing out here signs out at the provider, too. */
  signsOut: z.boolean().default(false),
});

export const signInSchema = z
  .strictObject({
    /** False: nobody signs in, signs up or sets a password with one; see docs/sign-in.md for the way back in. */
    passwords: z.boolean().default(true),
    /** By id, which is part of the address that the provider leads back to: `/api/auth/callback/<id>`. */
    providers: z
      .record(
        z
          .string()
          .regex(/^[a-z][a-z0-9-]{0,31}$/, "must be of small letters, digits and dashes")
          .refine((id) => id !== "credential", "is the name of local passwords; take another id"),
        identityProviderSchema,
      )
      .default({}),
  })
  .refine(({ passwords, providers }) => passwords || Object.keys(providers).length > 0, {
    path: ["passwords"],
    message: "must not be false without a provider: nobody could sign in",
  });

/** One provider of `config.signIn.providers`. */
export type IdentityProvider = z.infer<typeof identityProviderSchema>;

const secretsSchema = z.record(z.string(), z.string().min(1).max(2_000));

/** OIDC_CLIENT_SECRETS as its text: the secrets by the ids of their providers. Null when it is not that. */
function parseSecrets(text: string): Readonly<Record<string, string>> | null {
  return secretsSchema.safeParse(parseForeignJson(text)).data ?? null;
}

// Without the parser's words, which may hold a part of a secret.
export const clientSecrets = z
  .string()
  .refine((text) => parseSecrets(text) !== null, 'must be JSON like {"keycloak": "its client secret"}');

/** The secret of one provider; a provider without one is a public client. */
export function clientSecretOf(text: string | undefined, id: string): string | undefined {
  return parseSecrets(text ?? "{}")?.[id];
}
