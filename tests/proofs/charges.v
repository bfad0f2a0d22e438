(* Lemma charges of models/mathematics.md, for one parameter and one batch: what k records, gone or replaced, can make of the
   greatest sum, that the formula of the program is that, and that it nests. Lower bounds are upper bounds of the negated
   entries. e is what stands in the place of a record that is gone: Gamma under substitute, 0 under remove. *)
From Coq Require Import ZArith Lia List Bool Permutation Sorted Mergesort Orders.
Import ListNotations.
Open Scope Z_scope.

Definition sum (l : list Z) : Z := fold_right Z.add 0 l.
(* the greatest sum if at most k of the records, whose entries are at most us, give way to e *)
Fixpoint worst (e : Z) (k : nat) (us : list Z) : Z :=
  match us with [] => 0 | u :: us =>
    match k with O => u + worst e O us | S j => Z.max (u + worst e (S j) us) (e + worst e j us) end end.

Lemma worst_0 e us : worst e 0 us = sum us.
Proof. induction us as [|u us IH]; simpl; [|rewrite IH]; reflexivity. Qed.
Lemma worst_more e us : forall k, worst e k us <= worst e (S k) us.
Proof.
  induction us as [|u us IH]; intros k; [reflexivity|]. cbn [worst]. pose proof (IH k). destruct k as [|k]; [lia|]. pose proof (IH k). lia.
Qed.
(* A batch of D': of each record of D its entry, or e or less in its place (Some) *)
Fixpoint value (rs : list (Z * option Z)) : Z := match rs with [] => 0 | (u, None) :: rs => u + value rs | (_, Some v) :: rs => v + value rs end.
Fixpoint gone (rs : list (Z * option Z)) : nat := match rs with [] => O | (_, None) :: rs => gone rs | (_, Some _) :: rs => S (gone rs) end.
Theorem charges_enclose : forall e k rs us, Forall2 (fun r u => fst r <= u) rs us -> Forall (fun r => forall v, snd r = Some v -> v <= e) rs ->
  (gone rs <= k)%nat -> value rs <= worst e k us.
Proof.
  intros e k rs us F. revert k. induction F as [|(g, o) u rs us H F IH]; intros k A G; cbn [value gone worst] in *; [lia|].
  inversion_clear A as [|? ? A1 A2]. cbn [fst snd] in *. destruct o as [v|].
  - destruct k as [|k]; [lia|]. specialize (IH k A2 ltac:(lia)). specialize (A1 v eq_refl). lia.
  - specialize (IH k A2 G). destruct k; lia.
Qed.

(* The formula: over the least k of the entries, what each loses to e if that is a gain. *)
Definition gain (e u : Z) : Z := Z.max 0 (e - u).
Module ZOrder <: TotalLeBool.
  Definition t := Z.
  Definition leb := Z.leb.
  Theorem leb_total : forall x y, leb x y = true \/ leb y x = true.
  Proof. intros. unfold leb. rewrite !Z.leb_le. lia. Qed.
End ZOrder.
Module ZSort := Sort ZOrder.
Definition charged (e : Z) (k : nat) (us : list Z) : Z := sum us + sum (map (gain e) (firstn k (ZSort.sort us))).

Lemma worst_permuted e us us' : Permutation us us' -> forall k, worst e k us = worst e k us'.
Proof.
  intros P. induction P as [|u us us' P IH|u v us|us us' us'' P IH P' IH']; intros k; [reflexivity| | |congruence].
  - cbn [worst]. destruct k; rewrite !IH; reflexivity.
  - cbn [worst]. destruct k as [|[|k]]; lia.
Qed.
Lemma sum_permuted us us' : Permutation us us' -> sum us = sum us'.
Proof. unfold sum. induction 1; simpl; lia. Qed.
Lemma worst_sorted e us : StronglySorted Z.le us -> forall k, worst e k us = sum us + sum (map (gain e) (firstn k us)).
Proof.
  intros O. induction O as [|u us O IH F]; intros k; [destruct k; reflexivity|].
  destruct k as [|k]; [rewrite worst_0; simpl; lia|]. cbn [worst firstn map]. unfold sum in *. cbn [fold_right] in *. rewrite !IH.
  (* one more of us gains at most what u does *)
  assert (M : fold_right Z.add 0 (map (gain e) (firstn (S k) us)) <= fold_right Z.add 0 (map (gain e) (firstn k us)) + gain e u).
  { clear IH O. revert k. induction us as [|w us IH]; intros k; [unfold gain; destruct k; simpl; lia|].
    inversion_clear F as [|? ? F1 F2]. destruct k as [|k]; cbn [firstn map fold_right]; [unfold gain; lia|].
    specialize (IH F2 k). cbn [firstn] in IH. lia. }
  assert (Pos : 0 <= fold_right Z.add 0 (map (gain e) (firstn k us))).
  { clear. revert k. induction us as [|w us IH]; intros [|k]; cbn; try lia. specialize (IH k). unfold gain at 1. lia. }
  assert (Z0 : e < u -> fold_right Z.add 0 (map (gain e) (firstn (S k) us)) = 0 /\ fold_right Z.add 0 (map (gain e) (firstn k us)) = 0).
  { intros H. assert (A : forall j, fold_right Z.add 0 (map (gain e) (firstn j us)) = 0).
    { clear - F H. induction us as [|w us IH]; intros [|j]; cbn; try reflexivity. inversion_clear F as [|? ? F1 F2]. rewrite (IH F2). unfold gain. lia. }
    split; apply A. }
  unfold gain in *. destruct (Z_lt_le_dec e u) as [H|H]; [destruct (Z0 H); lia|lia].
Qed.
Theorem charges_formula : forall e k us, charged e k us = worst e k us.
Proof.
  intros e k us. rewrite (worst_permuted _ _ _ (ZSort.Permuted_sort us)), worst_sorted.
  - unfold charged. rewrite <- (sum_permuted _ _ (ZSort.Permuted_sort us)). reflexivity.
  - assert (T : StronglySorted (fun x y => is_true (ZOrder.leb x y)) (ZSort.sort us)).
    { apply ZSort.StronglySorted_sort. intros x y z. unfold is_true, ZOrder.leb. rewrite !Z.leb_le. lia. }
    induction T as [|x l T IH F]; constructor; [assumption|]. eapply Forall_impl; [|exact F]. cbv beta. intros y H. apply Z.leb_le. exact H.
Qed.

(* D' at distance 1, over a box within: entries of common records do not rise. One of substitute has another in its place,
   of remove nothing. *)
Lemma worst_mono e us us' : Forall2 Z.le us' us -> forall k, worst e k us' <= worst e k us.
Proof. intros F. induction F as [|u' u us' us H F IH]; intros k; [reflexivity|]. cbn [worst]. destruct k as [|k]; [pose proof (IH O); lia|pose proof (IH k); pose proof (IH (S k)); lia]. Qed.
Theorem charges_nest : forall e k b u a b' a', Forall2 Z.le b' b -> Forall2 Z.le a' a ->
  (forall u', u' <= e -> worst e k (b' ++ u' :: a') <= worst e (S k) (b ++ u :: a)) /\
  (e = 0 -> worst e k (b' ++ a') <= worst e (S k) (b ++ u :: a)).
Proof.
  intros e k b u a b' a' Fb Fa. revert k. induction Fb as [|x' x b' b H Fb IH]; intros k; cbn [app worst].
  - pose proof (worst_mono e _ _ Fa k) as M. split.
    + intros u' Hu. destruct k as [|k]; [lia|]. pose proof (worst_more e a' k). lia.
    + intros ->. lia.
  - destruct (IH k) as (I1 & I2). split.
    + intros u' Hu. specialize (I1 u' Hu). destruct k as [|k]; [lia|]. destruct (IH k) as (J1 & _). specialize (J1 u' Hu). lia.
    + intros E. specialize (I2 E). destruct k as [|k]; [lia|]. destruct (IH k) as (_ & J2). specialize (J2 E). lia.
Qed.

(* add_remove: k records, gone or come, of at most Gamma either way. *)
Theorem charges_of_add_remove : forall Gamma k rs us new, Forall2 (fun r u => fst r <= u /\ - Gamma <= u) rs us -> Forall (fun r => forall v, snd r = Some v -> v = 0) rs ->
  Forall (fun v => v <= Gamma) new -> 0 <= Gamma -> (gone rs + length new <= k)%nat -> value rs + sum new <= sum us + Z.of_nat k * Gamma.
Proof.
  intros Gamma k rs us new F A N HG K.
  assert (V : value rs <= sum us + Z.of_nat (gone rs) * Gamma).
  { clear K N. induction F as [|(g, o) u rs us (H & L) F IH]; cbn [value gone]; unfold sum in *; cbn [fold_right]; [lia|].
    inversion_clear A as [|? ? A1 A2]. specialize (IH A2). cbn [fst snd] in *. destruct o as [v|]; [rewrite (A1 v eq_refl); rewrite Nat2Z.inj_succ, Z.mul_succ_l|]; lia. }
  assert (W : sum new <= Z.of_nat (length new) * Gamma).
  { clear - N. unfold sum. induction N; cbn [fold_right length]; [lia|]. rewrite Nat2Z.inj_succ, Z.mul_succ_l. lia. }
  nia.
Qed.

(* ---- Examples, and wrong statements refuted: three records, Gamma 5 ---- *)
Example charges_enclose_example : value [(1, None); (-3, Some 5); (2, None)] <= worst 5 1 [1; -2; 2].
Proof. apply charges_enclose; [repeat constructor; simpl; lia| |simpl; lia]. repeat constructor; simpl; intros v H; inversion H; lia. Qed.
Example charges_formula_example : charged 5 2 [1; -2; 2] = 1 - 2 + 2 + (5 - -2) + (5 - 1) /\ charged 0 2 [1; -2; 2] = 1 - 2 + 2 + 2.
Proof. split; reflexivity. Qed.
Example charges_nest_example : worst 5 1 ([1] ++ 5 :: [2]) <= worst 5 2 ([1] ++ -2 :: [2]).
Proof. apply (charges_nest 5 1 [1] (-2) [2] [1] [2]); [repeat constructor; lia|repeat constructor; lia|lia]. Qed.
Example charges_of_add_remove_example : value [(1, None); (-3, Some 0)] + sum [5] <= sum [1; -3] + Z.of_nat 2 * 5.
Proof. apply charges_of_add_remove; try lia; repeat constructor; simpl; try lia; intros v H; inversion H; reflexivity. Qed.
(* Of substitute k Gamma alone, as of add_remove. *)
Fact charges_enclose_mutant : ~ value [(-3, Some 5)] <= sum [-3] + 1 * 5.
Proof. cbn. lia. Qed.
(* The greatest entries in place of the least. *)
Fact charges_formula_mutant : sum [1; -2; 2] + gain 5 2 <> worst 5 1 [1; -2; 2].
Proof. discriminate. Qed.
(* The same level. *)
Fact charges_nest_mutant : ~ worst 5 1 ([1] ++ 5 :: [2]) <= worst 5 1 ([1] ++ -2 :: [2]).
Proof. cbn. lia. Qed.
(* One less than k. *)
Fact charges_of_add_remove_mutant : ~ value [(-3, Some 0)] + sum [5] <= sum [-3] + Z.of_nat 1 * 5.
Proof. cbn. lia. Qed.
