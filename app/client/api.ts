import { createTRPCClient, httpBatchLink, httpLink, httpSubscriptionLink, splitLink } from "@trpc/client";
import superjson from "superjson";
import type { AppRouter } from "@atelier/server/api";
import { sessionFetch } from "./session.ts";

/** 128 random bits in hex; `crypto.randomUUID` is missing over plain http on a LAN address. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const url = "/api/trpc";

/** Options of the links that send several calls as one HTTP request. */
const batch = {
  url,
  transformer: superjson,
  fetch: (input: RequestInfo | URL | string, init?: object) => sessionFetch(input, init as RequestInit),
};

/** For the one procedure that needs no session: a visitor with a link does not become a guest. */
export const sessionlessApi = createTRPCClient<AppRouter>({
  links: [httpBatchLink({ url, transformer: superjson })],
});

/** For calls that arrive although the page is being left: each is sent at once, alone. */
export const keptApi = createTRPCClient<AppRouter>({
  links: [
    httpLink({
      url,
      transformer: superjson,
      fetch: (input, init) => fetch(input, { ...(init as RequestInit), keepalive: true }),
    }),
  ],
});

/** The typed client of the server's procedures. */
export const api = createTRPCClient<AppRouter>({
  links: [
    splitLink({
      condition: (operation) => operation.type === "subscription",
      true: httpSubscriptionLink({ url, transformer: superjson }),
      false: splitLink({
        condition: (operation) => operation.type === "mutation",
        // The server refuses more than five mutations in one request.
        true: httpBatchLink({ ...batch, maxItems: 5 }),
        false: httpBatchLink({ ...batch, maxItems: 10 }),
      }),
    }),
  ],
});
