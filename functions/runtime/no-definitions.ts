/** What stands for the definitions of whoever deploys none: it exports nothing. */
export {}
