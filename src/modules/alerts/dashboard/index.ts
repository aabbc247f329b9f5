import type { PageModule } from "../../../dashboard/kit/modules.tsx";

export const alerts: PageModule = {
  pages: [
    {
      path: "/admin/alerts",
      after: "/admin/providers",
      hasLink: true,
      name: "Alerts",
      icon: "bell",
      help: "alerts",
      words: "webhooks,slack,smtp,mail,notifications,pager,teams,discord,monitoring,mute",
      count: { tone: "is-warn", name: "active" },
      load: () => import("./alerts-page.tsx"),
    },
  ],
  load: () => import("./parts.tsx"),
};
