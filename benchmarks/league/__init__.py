"""The benchmark of methods: many data sets, many methods, the same folds for all."""
