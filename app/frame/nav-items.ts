import { Gauge, Images, ListChecks, type LucideIcon, Settings2, Shirt, WandSparkles } from "lucide-react";

export interface NavItem {
  readonly key: "studio" | "create" | "gallery" | "jobs" | "settings" | "admin";
  readonly href: string;
  /** Pressed after `g`. */
  readonly goKey: string;
  readonly icon: LucideIcon;
  /** Nobody else sees it. */
  readonly isForAdmins?: true;
}

export const navItems: readonly NavItem[] = [
  { key: "studio", href: "/", goKey: "s", icon: Shirt },
  { key: "create", href: "/create", goKey: "c", icon: WandSparkles },
  { key: "gallery", href: "/gallery", goKey: "g", icon: Images },
  { key: "jobs", href: "/jobs", goKey: "j", icon: ListChecks },
  { key: "settings", href: "/settings", goKey: "e", icon: Settings2 },
  { key: "admin", href: "/admin", goKey: "a", icon: Gauge, isForAdmins: true },
];

export function isCurrent(item: NavItem, pathname: string): boolean {
  return item.href === "/" ? pathname === "/" : pathname.startsWith(item.href);
}
