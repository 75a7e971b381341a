"use client";
import {
  Gauge,
  Images,
  ListChecks,
  type LucideIcon,
  MessageCircle,
  Settings2,
  Shirt,
  Tags,
  WandSparkles,
} from "lucide-react";
import { usePathname } from "next/navigation";
import { useEffect } from "react";
import { useCapability, useMe } from "../client/queries.ts";
import { useIsHydrated } from "../ui/hooks.ts";
import { rememberCreate } from "../client/cookies.ts";

interface NavItem {
  readonly key: "studio" | "wardrobe" | "create" | "gallery" | "jobs" | "assistant" | "settings" | "admin";
  readonly href: string;
  /** Second key of the shortcut: `g`, then this key. */
  readonly goKey: string;
  readonly icon: LucideIcon;
  /** Hidden from users who are not admins. */
  readonly isForAdmins?: true;
}

export const navItems: readonly NavItem[] = [
  { key: "studio", href: "/", goKey: "s", icon: Shirt },
  { key: "wardrobe", href: "/wardrobe", goKey: "w", icon: Tags },
  { key: "create", href: "/create", goKey: "c", icon: WandSparkles },
  { key: "gallery", href: "/gallery", goKey: "g", icon: Images },
  { key: "jobs", href: "/jobs", goKey: "j", icon: ListChecks },
  { key: "assistant", href: "/assistant", goKey: "t", icon: MessageCircle },
  { key: "settings", href: "/settings", goKey: "e", icon: Settings2 },
  { key: "admin", href: "/admin", goKey: "a", icon: Gauge, isForAdmins: true },
];

function isCurrent(item: NavItem, pathname: string): boolean {
  return item.href === "/" ? pathname === "/" : pathname.startsWith(item.href);
}

export interface CurrentNavItem extends NavItem {
  readonly isCurrent: boolean;
}

/** The visible links. Create is hidden while no engine for text to image was available within a day, except on its own page. */
export function useNavItems(hadCreate: boolean): readonly CurrentNavItem[] {
  const pathname = usePathname();
  const isHydrated = useIsHydrated();
  const canCreate = useCapability("text_to_image")?.available;
  const me = useMe();
  // The server renders without these values, so the first client render must not use them.
  // Whose second factor is missing sees there what to do.
  const isAdmin = isHydrated && (me?.isAdmin === true || Boolean(me?.adminLack));
  const hasCreate = (isHydrated ? canCreate : undefined) ?? hadCreate;
  useEffect(() => {
    if (canCreate !== undefined) rememberCreate(canCreate);
  }, [canCreate]);
  return navItems
    .map((item) => ({ ...item, isCurrent: isCurrent(item, pathname) }))
    .filter((item) => item.key !== "create" || hasCreate || item.isCurrent)
    .filter((item) => item.isForAdmins !== true || isAdmin);
}
