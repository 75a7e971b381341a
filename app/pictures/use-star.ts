"use client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { api } from "../client/api.ts";
import { keys } from "../data/keys.ts";
import { useFailureToast } from "../data/use-failure-toast.ts";

interface Input {
  readonly ids: readonly string[];
  readonly starred: boolean;
}

export function useStar() {
  const queries = useQueryClient();
  const onError = useFailureToast();
  return useMutation({
    mutationFn: ({ ids, starred }: Input) =>
      Promise.all(ids.map((id) => api.images.star.mutate({ id, starred }))),
    onSuccess: (images) => {
      for (const image of images) queries.setQueryData(keys.image(image.id), image);
    },
    onError: (error, { ids }) => {
      onError(error);
      // One of them failed; the others may have their star.
      for (const id of ids) void queries.invalidateQueries({ queryKey: keys.image(id) });
    },
    onSettled: () => queries.invalidateQueries({ queryKey: keys.imageLists }),
  });
}
