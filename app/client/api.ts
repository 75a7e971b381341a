import type { AppRouter } from "@atelier/server/api";
import { createTRPCClient, httpBatchLink, httpSubscriptionLink, splitLink } from "@trpc/client";
import superjson from "superjson";
import { sessionFetch } from "../data/session-fetch.ts";

const url = "/api/trpc";

const batch = {
  url,
  transformer: superjson,
  fetch: (input: RequestInfo | URL | string, init?: object) => sessionFetch(input, init as RequestInit),
};

/** The typed client of the server's procedures. */
export const api = createTRPCClient<AppRouter>({
  links: [
    splitLink({
      condition: (operation) => operation.type === "subscription",
      true: httpSubscriptionLink({ url, transformer: superjson }),
      false: splitLink({
        condition: (operation) => operation.type === "mutation",
        // The server takes at most five changes in one request.
        true: httpBatchLink({ ...batch, maxItems: 5 }),
        false: httpBatchLink({ ...batch, maxItems: 10 }),
      }),
    }),
  ],
});
