import { QueryClient } from "@tanstack/react-query";
import { failureOf } from "../client/failures.ts";
import { forgetSession } from "../client/session.ts";

function retryOnce(failures: number, error: unknown): boolean {
  const { code } = failureOf(error);
  if (code === "unauthorized") forgetSession();
  return failures < 1 && code !== "not_found" && code !== "bad_request";
}

/** Queries are tried twice and hold for 30 s; the live stream renews those of jobs, some others ask again by a timer. */
export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: { staleTime: 30_000, refetchOnWindowFocus: false, retry: retryOnce },
      mutations: { retry: false },
    },
  });
}
