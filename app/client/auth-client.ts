import { passkeyClient } from "@better-auth/passkey/client";
import { anonymousClient, twoFactorClient } from "better-auth/client/plugins";
import { createAuthClient } from "better-auth/react";

/** Loaded by `authClient` of the session, since it is large and a page of somebody who is signed in does not call it. */
export const authClient = createAuthClient({
  plugins: [anonymousClient(), twoFactorClient(), passkeyClient()],
});
