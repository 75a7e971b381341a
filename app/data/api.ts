import type { AppRouter } from "@atelier/server/api";
import { createTRPCClient, httpBatchLink, httpSubscriptionLink, splitLink } from "@trpc/client";
import superjson from "superjson";
import { sessionFetch } from "./session-fetch.ts";

const url = "/api/trpc";

/** The typed client of the server's procedures. */
export const api = createTRPCClient<AppRouter>({
  links: [
    splitLink({
      condition: (operation) => operation.type === "subscription",
      true: httpSubscriptionLink({ url, transformer: superjson }),
      false: httpBatchLink({
        url,
        transformer: superjson,
        maxItems: 10,
        fetch: (input, init) => sessionFetch(input, init as RequestInit),
      }),
    }),
  ],
});
