"use client";
import type { FigureWindow } from "@atelier/server/monitoring";
import { api } from "../client/api.ts";
import { useLiveQuery } from "./parts/use-live-query.ts";

export function useOverview(window: FigureWindow) {
  return useLiveQuery(["overview", window], () => api.admin.overview.query({ window }));
}
