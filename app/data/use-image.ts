"use client";
import { useQuery } from "@tanstack/react-query";
import { api } from "../client/api.ts";
import { keys } from "./keys.ts";

export function useImage(id: string | null) {
  return useQuery({
    queryKey: keys.image(id ?? ""),
    queryFn: () => api.images.get.query({ id: id ?? "" }),
    enabled: id !== null,
  });
}
