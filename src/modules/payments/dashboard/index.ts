import type { PageModule } from "../../../dashboard/kit/modules.tsx";

export const payments: PageModule = {
  pages: [
    {
      path: "/admin/vouchers",
      after: "/billing",
      name: "Vouchers",
      icon: "voucher",
      help: "billing#wallets-and-vouchers",
      words: "coupons,credit,gift,codes",
      load: () => import("./vouchers-page.tsx"),
    },
  ],
  load: () => import("./parts.tsx"),
};
