import { type ComponentType, lazy } from "react";
import { OverviewPage } from "../pages/overview/overview-page.tsx";
import type { IconName } from "../ui/icon.tsx";

/** A page of the dashboard: where it stands, what it is called, and who sees it in the navigation. */
export interface PageEntry {
  readonly path: string;
  readonly name: string;
  readonly icon: IconName;
  readonly page: ComponentType;
}

/** Pages of everybody. Those that are not the first to be seen are loaded when they are. */
export const ownPages: readonly PageEntry[] = [{ path: "/", name: "Overview", icon: "overview", page: OverviewPage }];

/** Pages of administrators, below `/admin`. */
export const adminPages: readonly PageEntry[] = [];

export const settingsPage = lazy(() => import("../pages/settings/settings-page.tsx"));
