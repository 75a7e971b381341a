"use client";
import { usePathname } from "next/navigation";
import { useEffect } from "react";
import { useCapability } from "../client/queries.ts";
import { useMe } from "../data/use-me.ts";
import { useIsHydrated } from "../ui/use-is-hydrated.ts";
import { rememberCreate } from "./create-cookie.ts";
import { isCurrent, type NavItem, navItems } from "./nav-items.ts";

export interface CurrentNavItem extends NavItem {
  readonly isCurrent: boolean;
}

/** The ways that lead somewhere: to making pictures from words only when something could since yesterday, or from there. */
export function useNavItems(hadCreate: boolean): readonly CurrentNavItem[] {
  const pathname = usePathname();
  const isHydrated = useIsHydrated();
  const canCreate = useCapability("text_to_image")?.available;
  const me = useMe();
  // The server knows neither: what is known before the frame comes alive must not change its first drawing.
  const isAdmin = isHydrated && me?.isAdmin === true;
  const hasCreate = (isHydrated ? canCreate : undefined) ?? hadCreate;
  useEffect(() => {
    if (canCreate !== undefined) rememberCreate(canCreate);
  }, [canCreate]);
  return navItems
    .map((item) => ({ ...item, isCurrent: isCurrent(item, pathname) }))
    .filter((item) => item.key !== "create" || hasCreate || item.isCurrent)
    .filter((item) => item.isForAdmins !== true || isAdmin);
}
