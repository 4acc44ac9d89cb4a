"""Sums orders by region and looks for the odd ones; writes both to out/."""
import numpy
import pandas

orders = pandas.read_csv("data/orders.csv", parse_dates=["day"])
orders["value"] = orders["pieces"] * orders["price"]

by_region = orders.groupby("region")["value"].agg(["count", "sum", "mean"]).round(2)
by_region.to_csv("out/by-region.csv")

# Odd is what lies more than three deviations from the mean of its region.
means = orders.groupby("region")["value"].transform("mean")
deviations = orders.groupby("region")["value"].transform("std")
odd = orders[numpy.abs(orders["value"] - means) > 3 * deviations]
odd.to_csv("out/odd.csv", index=False)

print(f"{len(orders)} orders from {orders['day'].min():%d %B} to {orders['day'].max():%d %B}, "
      f"{orders['value'].sum():,.2f} in all; {len(odd)} odd")
