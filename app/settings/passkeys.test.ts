import { expect, test, vi } from "vitest";
import { retype } from "./passkeys.tsx";

test("a letter takes a refusal away, and leaves a request that is under way alone", () => {
  const reset = vi.fn<() => void>();
  const take = vi.fn<(text: string) => void>();
  retype({ isError: false, reset }, take)("a");
  expect(reset).not.toHaveBeenCalled();
  retype({ isError: true, reset }, take)("ab");
  expect(reset).toHaveBeenCalledOnce();
  expect(take.mock.calls).toEqual([["a"], ["ab"]]);
});
