"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useFailureToast } from "../../data/use-failure-toast.ts";

/** Something an admin does; what the pages show is asked for again at once. */
export function useAdminAction<Input = void>(act: (input: Input) => Promise<unknown>) {
  const queries = useQueryClient();
  const onError = useFailureToast();
  return useMutation({
    mutationFn: act,
    onError,
    onSettled: () => queries.invalidateQueries({ queryKey: ["admin"] }),
  });
}
