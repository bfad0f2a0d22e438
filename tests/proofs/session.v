(* Theorem session of models/mathematics.md (models/privacy/session/session_law.cpp): one threshold W, any number of
   queries chosen as answers come, at most c refusals, and other releases chosen in between. *)
From Coq Require Import Reals Lra Lia ZArith Arith List Bool.
From Flocq Require Import Core.
From Holdfast Require Import finite_sums composition stable_randomised_response integer_tables.
Import ListNotations.
Open Scope R_scope.

(* What the one who asks knows: the outcomes so far. *)
Inductive outcome := refused | answer (label : nat) | released (c : nat).
Definition transcript := list outcome.
Record evidence := { label : nat; distance : nat }.
Definition close (v v' : evidence) := neighbours (label v) (distance v) (label v') (distance v').

Section Law.
Variables (b : R) (rho : Z -> R).        (* rho d: the probability of a refusal at h - W = d *)
Hypothesis Hb : 0 <= b.
Hypothesis rho_range : forall d, 0 <= rho d <= 1.
Hypothesis rho_below : forall d, (d < 0)%Z -> rho d = 1.
Hypothesis rho_falls : forall d, rho (d + 1)%Z <= rho d.
Hypothesis rho_slow : forall d, rho d <= exp b * rho (d + 1)%Z.

(* What comes after a transcript: a query, or another release. `ask` is what the query finds in the dataset. *)
Variables (queries : transcript -> bool) (choose : transcript -> release) (event : transcript -> bool).
Hypothesis all_sound : forall past, sound (choose past).
(* The chance of the event in n more outcomes, given W = j; c refusals are left, and E and D for other releases. *)
Fixpoint given (ask : transcript -> evidence) (side : release -> nat -> R) (j n c : nat) (E D : R) (past : transcript) : R :=
  let stop := if event past then 1 else 0 in
  match n with
  | O => stop
  | S n =>
    if queries past then
      match c with
      | O => stop
      | S c' =>
        let v := ask past in
        let r := rho (Z.of_nat (distance v) - Z.of_nat j) in
        r * given ask side j n c' E D (refused :: past) + (1 - r) * given ask side j n c E D (answer (label v) :: past)
      end
    else
      let r := choose past in
      if Rle_dec (eps r) E then if Rle_dec (delta r) D then
        total (outcomes r) (fun k => side r k * given ask side j n c (E - eps r) (D - delta r) (released k :: past))
      else stop else stop
  end.
Lemma given_range ask side : (forall past, is_law (outcomes (choose past)) (side (choose past))) ->
  forall j n c E D past, 0 <= given ask side j n c E D past <= 1.
Proof.
  intros L j. induction n; intros c E D past; simpl; [destruct (event past); lra|].
  destruct (queries past).
  - destruct c; [destruct (event past); lra|]. set (r := rho _). assert (0 <= r <= 1) by apply rho_range.
    pose proof (IHn c E D (refused :: past)). pose proof (IHn (S c) E D (answer (label (ask past)) :: past)). nra.
  - destruct (Rle_dec _ _) as [He|]; [|destruct (event past); lra]. destruct (Rle_dec _ _) as [Hd|]; [|destruct (event past); lra].
    apply mean_range; [apply L|]. intros. apply IHn.
Qed.
Lemma rho_fall_many d k : rho (d + Z.of_nat k)%Z <= rho d.
Proof.
  induction k; [replace (d + Z.of_nat 0)%Z with d by lia; lra|].
  eapply Rle_trans; [|exact IHk]. replace (d + Z.of_nat (S k))%Z with (d + Z.of_nat k + 1)%Z by lia. apply rho_falls.
Qed.

(* W = j + 1 on D against W = j on D'. *)
Lemma shifted ask ask' j : (forall past, close (ask past) (ask' past)) -> forall n c E D past, 0 <= E -> 0 <= D ->
  given ask law (S j) n c E D past <= exp (2 * b * INR c + E) * given ask' law' j n c E D past + D.
Proof.
  intros N. assert (RG := given_range ask law (fun p => proj1 (all_sound p))).
  assert (RG' := given_range ask' law' (fun p => proj1 (proj2 (all_sound p)))).
  assert (at_least_1 : forall c E, 0 <= E -> 1 <= exp (2 * b * INR c + E)).
  { intros c E HE. apply exp_ge_1. pose proof (pos_INR c). assert (0 <= b * INR c) by (apply Rmult_le_pos; lra). lra. }
  induction n; intros c E D past HE HD; pose proof (at_least_1 c E HE); cbn [given]; [destruct (event past); lra|].
  destruct (queries past); [destruct c|].
  - destruct (event past); lra.
  - set (v := ask past). set (v' := ask' past). destruct (N past) as (L1 & L2 & HL). fold v v' in L1, L2, HL.
    set (r := rho _). set (r' := rho _). assert (0 <= r <= 1) by apply rho_range. assert (0 <= r' <= 1) by apply rho_range.
    set (e := exp (2 * b * INR (S c) + E)) in *.
    assert (Ee : e = exp b * exp b * exp (2 * b * INR c + E)) by (unfold e; rewrite <- !exp_plus; f_equal; rewrite S_INR; ring).
    pose proof (exp_ge_1 b Hb). pose proof (exp_pos (2 * b * INR c + E)) as Ec.
    (* a refusal: h' - j is h - (j + 1) and two more at most *)
    assert (R1 : r <= exp b * exp b * r').
    { unfold r, r'. set (d := (Z.of_nat (distance v) - Z.of_nat (S j))%Z).
      eapply Rle_trans; [apply rho_slow|]. rewrite Rmult_assoc. apply Rmult_le_compat_l; [lra|].
      eapply Rle_trans; [apply rho_slow|]. apply Rmult_le_compat_l; [lra|].
      replace (d + 1 + 1)%Z with (Z.of_nat (distance v') - Z.of_nat j + Z.of_nat (distance v + 1 - distance v'))%Z by lia.
      apply rho_fall_many. }
    pose proof (IHn c E D (refused :: past) HE HD) as I1.
    set (g1 := given ask law (S j) n c E D _) in *. set (g1' := given ask' law' j n c E D _) in *.
    assert (0 <= g1' <= 1) by apply RG'.
    assert (T1 : r * g1 <= e * (r' * g1') + r * D).
    { apply Rle_trans with (r * (exp (2 * b * INR c + E) * g1' + D)); [apply Rmult_le_compat_l; lra|]. rewrite Ee.
      assert (r * (exp (2 * b * INR c + E) * g1') <= exp b * exp b * r' * (exp (2 * b * INR c + E) * g1')) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|exact R1]).
      lra. }
    (* an answer: no less likely there, of the same label *)
    set (g2 := given ask law (S j) n (S c) E D _). set (g2' := given ask' law' j n (S c) E D _).
    assert (0 <= g2' <= 1) by apply RG'.
    assert (T2 : (1 - r) * g2 <= e * ((1 - r') * g2') + (1 - r) * D).
    { destruct (Z_lt_dec (Z.of_nat (distance v) - Z.of_nat (S j)) 0) as [Hlow|Hlow].
      - assert (r = 1) as -> by (apply rho_below; exact Hlow).
        assert (0 <= e * ((1 - r') * g2')) by (apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]). lra.
      - assert (Lab : label v = label v') by (apply HL; lia).
        assert (I2 : g2 <= e * g2' + D) by (unfold g2, g2'; rewrite <- Lab; apply IHn; assumption).
        assert (r' <= r).
        { unfold r, r'. replace (Z.of_nat (distance v') - Z.of_nat j)%Z with
            (Z.of_nat (distance v) - Z.of_nat (S j) + Z.of_nat (distance v' + 1 - distance v))%Z by lia. apply rho_fall_many. }
        assert ((1 - r) * (e * g2') <= (1 - r') * (e * g2')) by (apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|lra]).
        assert ((1 - r) * g2 <= (1 - r) * (e * g2' + D)) by (apply Rmult_le_compat_l; lra). lra. }
    lra.
  - destruct (Rle_dec _ _) as [He|]; [|destruct (event past); lra]. destruct (Rle_dec _ _) as [Hd|]; [|destruct (event past); lra].
    destruct (all_sound past) as (L & L' & _ & _ & P). set (r := choose past) in *.
    pose proof (one_release _ _ _ _ _ (fun k => given ask law (S j) n c (E - eps r) (D - delta r) (released k :: past))
      (fun k => given ask' law' j n c (E - eps r) (D - delta r) (released k :: past)) (2 * b * INR c + (E - eps r)) (D - delta r) L L' ltac:(lra) P
      ltac:(intros; apply RG) ltac:(intros; apply RG') ltac:(intros; apply IHn; lra)) as Q.
    replace (eps r + (2 * b * INR c + (E - eps r))) with (2 * b * INR c + E) in Q by ring. lra.
Qed.

(* P(W = j), j = 0 .. w *)
Variables (w : nat) (P : nat -> R) (e1 d1 : R) (c : nat).
Fixpoint mean (f : nat -> R) (w : nat) : R := match w with O => P O * f O | S m => mean f m + P (S m) * f (S m) end.
Hypothesis P_pos : forall j, 0 <= P j.
Hypothesis P_first : P 0%nat <= d1.
Hypothesis P_slow : forall j, P (S j) <= exp e1 * P j.
Hypothesis P_sum : mean (fun _ => 1) w = 1.
Definition chance (ask : transcript -> evidence) (side : release -> nat -> R) (n : nat) (E D : R) : R :=
  mean (fun j => given ask side j n c E D []) w.

(* All of it costs what the session does, and the releases beside it. *)
Theorem session : forall ask ask' n E D, (forall past, close (ask past) (ask' past)) -> 0 <= E -> 0 <= D ->
  chance ask law n E D <= exp (e1 + 2 * b * INR c + E) * chance ask' law' n E D + (d1 + D).
Proof.
  intros ask ask' n E D N HE HD. unfold chance.
  replace (exp (e1 + 2 * b * INR c + E)) with (exp e1 * exp (2 * b * INR c + E)) by (rewrite <- exp_plus; f_equal; ring).
  set (f := fun j => given ask law j n c E D []). set (f' := fun j => given ask' law' j n c E D []). set (g := exp e1 * exp (2 * b * INR c + E)).
  pose proof (exp_pos e1). pose proof (exp_pos (2 * b * INR c + E)).
  assert (F : forall j, 0 <= f j <= 1) by (intros; apply given_range; intros; apply all_sound).
  assert (F' : forall j, 0 <= f' j <= 1) by (intros; apply given_range; intros; apply all_sound).
  assert (Sh : forall j, f (S j) <= exp (2 * b * INR c + E) * f' j + D) by (intros; apply shifted; assumption).
  assert (St : forall j, P (S j) * f (S j) <= g * (P j * f' j) + D * P (S j)).
  { intros j. pose proof (P_pos (S j)). assert (P (S j) * f (S j) <= P (S j) * (exp (2 * b * INR c + E) * f' j + D)) by (apply Rmult_le_compat_l; auto).
    assert (0 <= exp (2 * b * INR c + E) * f' j) by (apply Rmult_le_pos; [lra|apply F']).
    assert (P (S j) * (exp (2 * b * INR c + E) * f' j) <= exp e1 * P j * (exp (2 * b * INR c + E) * f' j)) by (apply Rmult_le_compat_r; auto).
    unfold g. lra. }
  assert (Pos : forall j, 0 <= g * (P j * f' j)).
  { intros. unfold g. apply Rmult_le_pos; [apply Rmult_le_pos; lra|apply Rmult_le_pos; [apply P_pos|apply F']]. }
  assert (B0 : P 0%nat * f 0%nat <= d1) by (pose proof (P_pos 0); pose proof (F 0%nat); nra).
  enough (Q : forall m, mean f m <= g * mean f' m + D * mean (fun _ => 1) m + d1 - match m with O => g * (P O * f' O) | S k => g * (P (S k) * f' (S k)) end).
  { specialize (Q w). rewrite P_sum in Q. pose proof (Pos w). destruct w; lra. }
  induction m; cbn [mean].
  - assert (0 <= D * (P 0%nat * 1)) by (apply Rmult_le_pos; [lra|rewrite Rmult_1_r; apply P_pos]). lra.
  - pose proof (St m). destruct m; lra.
Qed.
End Law.

(* The tables of the program: refusal_table of session_law.cpp. *)
Section RefusalTable.
Variables (n : Z) (b decay : R).
Let N := IZR n.
Hypothesis HN : 0 < N.
Hypothesis Hb : 0 <= b.
Hypothesis Hdecay : exp (- b) <= decay <= 1.
Fixpoint entry (d : nat) : Z := match d with O => Zceil (decay * N) | S d => Zceil (decay * IZR (entry d)) end.
Definition rho_of (d : Z) : R := if (d <? 0)%Z then 1 else IZR (entry (Z.to_nat d)) / N.

Lemma below k : 0 <= IZR k -> 0 <= IZR (Zceil (decay * IZR k)) <= IZR k.
Proof.
  intros H. pose proof (exp_pos (- b)). split.
  - apply Rle_trans with (decay * IZR k); [nra|apply Zceil_ub].
  - apply IZR_le, Zceil_glb. nra.
Qed.
Lemma up k : 0 <= IZR k -> IZR k <= exp b * IZR (Zceil (decay * IZR k)).
Proof.
  intros H. assert (E : exp b * exp (- b) = 1) by (rewrite <- exp_plus; replace (b + - b) with 0 by lra; apply exp_0).
  pose proof (Zceil_ub (decay * IZR k)). pose proof (exp_pos b).
  assert (exp b * (exp (- b) * IZR k) <= exp b * (decay * IZR k)) by (apply Rmult_le_compat_l; [lra|apply Rmult_le_compat_r; lra]).
  rewrite <- Rmult_assoc, E in H2.
  assert (exp b * (decay * IZR k) <= exp b * IZR (Zceil (decay * IZR k))) by (apply Rmult_le_compat_l; lra). lra.
Qed.
Lemma entry_range d : 0 <= IZR (entry d) <= N.
Proof. induction d; simpl; [apply below; fold N; lra|]. destruct (below (entry d)); lra. Qed.
Theorem refusal_table : (forall d, 0 <= rho_of d <= 1) /\ (forall d, (d < 0)%Z -> rho_of d = 1) /\
  (forall d, rho_of (d + 1)%Z <= rho_of d) /\ (forall d, rho_of d <= exp b * rho_of (d + 1)%Z).
Proof.
  pose proof (exp_ge_1 b Hb). assert (0 < / N) by (apply Rinv_0_lt_compat; lra). assert (NN : N / N = 1) by (field; lra).
  assert (R : forall k, 0 <= IZR (entry k) / N <= 1).
  { intros k. destruct (entry_range k). split; [apply Rmult_le_pos; lra|]. rewrite <- NN. apply Rmult_le_compat_r; lra. }
  unfold rho_of. repeat split.
  - destruct (d <? 0)%Z; [lra|apply R].
  - destruct (d <? 0)%Z; [lra|apply R].
  - intros d H1. apply Z.ltb_lt in H1. rewrite H1. reflexivity.
  - intros d. destruct (Z.ltb_spec d 0), (Z.ltb_spec (d + 1) 0); try lia; try lra; try apply R.
    apply Rmult_le_compat_r; [lra|]. replace (Z.to_nat (d + 1)) with (S (Z.to_nat d)) by lia. apply below, entry_range.
  - intros d. destruct (Z.ltb_spec d 0), (Z.ltb_spec (d + 1) 0); try lia; try lra; unfold Rdiv; rewrite <- ?Rmult_assoc.
    + replace (d + 1)%Z with 0%Z by lia. rewrite <- NN. apply Rmult_le_compat_r; [lra|]. apply (up n). fold N. lra.
    + replace (Z.to_nat (d + 1)) with (S (Z.to_nat d)) by lia. apply Rmult_le_compat_r; [lra|]. apply up, entry_range.
Qed.
End RefusalTable.

(* Checkers of both tables: what they accept meets the law. N = 2^128. *)
Definition threshold_pair (gn gd p p' : Z) : bool := ((0 <=? p') && (gd * p' <=? gn * p))%Z.
Definition good_thresholds (N gn gd dn dd : Z) (table : list Z) : bool :=
  match table with [] => false | p :: rest =>
    ((0 <? N) && (0 <? gd) && (0 <? gn) && (0 <? dd) && (0 <=? p) && (dd * p <=? dn * N) && (fold_right Z.add 0 table =? N))%Z &&
    good_pairs (threshold_pair gn gd) p rest end.
Definition refusal_pair (gn gd r r' : Z) : bool := ((0 <=? r') && (r' <=? r) && (gd * r <=? gn * r'))%Z.
Definition good_refusals (N gn gd : Z) (table : list Z) : bool :=
  match table with [] => false | r :: rest =>
    ((0 <? N) && (0 <? gd) && (gd <=? gn) && (0 <=? r) && (r <=? N) && (gd * N <=? gn * r))%Z && good_pairs (refusal_pair gn gd) r rest end.
Definition threshold_law (N : Z) (table : list Z) (j : nat) : R := IZR (nth j table 0%Z) / IZR N.
Definition refusal_law (N : Z) (table : list Z) (d : Z) : R := if (d <? 0)%Z then 1 else IZR (entry_at table (Z.to_nat d)) / IZR N.

Lemma by_factor x y gn gd e : 0 <= IZR y -> (0 < gd)%Z -> IZR gn / IZR gd <= e -> (gd * x <= gn * y)%Z -> IZR x <= e * IZR y.
Proof.
  intros Y G H I. apply IZR_lt in G. apply IZR_le in I. rewrite !mult_IZR in I.
  apply Rle_trans with (IZR gn / IZR gd * IZR y); [|apply Rmult_le_compat_r; assumption].
  apply Rmult_le_reg_l with (IZR gd); [assumption|]. replace (IZR gd * (IZR gn / IZR gd * IZR y)) with (IZR gn * IZR y) by (field; lra). exact I.
Qed.
Lemma sum_first l k : fold_right Z.add 0%Z (firstn (S k) l) = (fold_right Z.add 0 (firstn k l) + nth k l 0)%Z.
Proof. revert k. induction l as [|x l IH]; intros [|k]; simpl; try lia. specialize (IH k). simpl in IH. lia. Qed.
Theorem accepted_session : forall N gn gd dn dd rn rd e1 b thresholds refusals,
  good_thresholds N gn gd dn dd thresholds && good_refusals N rn rd refusals = true -> IZR gn / IZR gd <= exp e1 -> IZR rn / IZR rd <= exp b -> 0 <= b ->
  forall queries choose event c, (forall past, sound (choose past)) -> forall ask ask' n E D, (forall past, close (ask past) (ask' past)) -> 0 <= E -> 0 <= D ->
  let law := chance (refusal_law N refusals) queries choose event (length thresholds - 1) (threshold_law N thresholds) c in
  law ask composition.law n E D <= exp (e1 + 2 * b * INR c + E) * law ask' law' n E D + (IZR dn / IZR dd + D).
Proof.
  intros N gn gd dn dd rn rd e1 b T F G He Hb B0 queries choose event c Snd ask ask' n E D Near HE HD. cbv zeta.
  apply andb_true_iff in G. destruct G as (GT & GF).
  assert (exists p rest, T = p :: rest) as (p & rest & ET) by (destruct T; [discriminate|eauto]).
  assert (exists r rest', F = r :: rest') as (r & rest' & EF) by (destruct F; [discriminate|eauto]).
  unfold good_thresholds in GT. unfold good_refusals in GF. rewrite ET in GT. rewrite EF in GF. booleans.
  destruct GT as (((((((N0 & G0) & G1) & D0) & P0) & P1) & PS) & PP). destruct GF as ((((((_ & R0) & R1) & R2) & R3) & R4) & RP).
  pose proof (pairs_at _ _ _ PP) as Pairs. rewrite <- ET in Pairs, PS.
  pose proof (pairs_of_all _ _ _ RP) as Falls. rewrite <- EF in Falls.
  assert (RN : 0 < IZR N) by (apply IZR_lt; lia). assert (RI : 0 < / IZR N) by (apply Rinv_0_lt_compat; lra). assert (NN : IZR N / IZR N = 1) by (field; lra).
  assert (pos : forall j, (0 <= nth j T 0)%Z).
  { intros j. destruct j; [rewrite ET; exact P0|]. destruct (Nat.lt_ge_cases (S j) (length T)) as [H|H]; [|rewrite nth_overflow by assumption; lia].
    specialize (Pairs j H). unfold threshold_pair in Pairs. booleans. tauto. }
  assert (range : forall d, (0 <= entry_at F d <= N)%Z).
  { induction d; [rewrite EF; cbn; lia|]. destruct (Falls d) as [->|Q]; [exact IHd|]. unfold refusal_pair in Q. booleans. lia. }
  pose proof (exp_ge_1 b B0) as Eb. pose proof (exp_pos e1) as Ee.
  assert (scaled : forall x y e, x <= e * y -> x / IZR N <= e * (y / IZR N)).
  { intros x y e H. unfold Rdiv. rewrite <- Rmult_assoc. apply Rmult_le_compat_r; lra. }
  apply session; try assumption; unfold threshold_law, refusal_law.
  - intros d. destruct (d <? 0)%Z; [lra|]. destruct (range (Z.to_nat d)) as (A & B). apply IZR_le in A, B.
    split; [apply Rmult_le_pos; lra|]. rewrite <- NN. apply Rmult_le_compat_r; lra.
  - intros d H. apply Z.ltb_lt in H. rewrite H. reflexivity.
  - intros d. destruct (Z.ltb_spec d 0), (Z.ltb_spec (d + 1) 0); try lia; try lra.
    + destruct (range (Z.to_nat (d + 1))) as (_ & B). apply IZR_le in B. rewrite <- NN. apply Rmult_le_compat_r; lra.
    + replace (Z.to_nat (d + 1)) with (S (Z.to_nat d)) by lia. apply Rmult_le_compat_r; [lra|]. apply IZR_le.
      destruct (Falls (Z.to_nat d)) as [->|Q]; [lia|]. unfold refusal_pair in Q. booleans. tauto.
  - intros d. destruct (Z.ltb_spec d 0), (Z.ltb_spec (d + 1) 0); try lia; try lra.
    + replace (d + 1)%Z with 0%Z by lia. rewrite <- NN. apply scaled. change (entry_at F (Z.to_nat 0)) with (entry_at F 0).
      apply (by_factor _ _ rn rd); try assumption; [apply IZR_le, range|]. rewrite EF. cbn. exact R4.
    + replace (Z.to_nat (d + 1)) with (S (Z.to_nat d)) by lia. apply scaled. destruct (range (Z.to_nat d)) as (A & _). apply IZR_le in A.
      destruct (Falls (Z.to_nat d)) as [->|Q]; [nra|]. unfold refusal_pair in Q. booleans.
      apply (by_factor _ _ rn rd); try assumption; [apply IZR_le, range|tauto].
  - intros j. apply Rmult_le_pos; [apply IZR_le, pos|lra].
  - rewrite ET. cbn [nth]. apply IZR_le in P1. rewrite !mult_IZR in P1. apply IZR_lt in D0.
    apply Rmult_le_reg_l with (IZR dd * IZR N); [apply Rmult_lt_0_compat; lra|].
    replace (IZR dd * IZR N * (IZR p / IZR N)) with (IZR dd * IZR p) by (field; lra).
    replace (IZR dd * IZR N * (IZR dn / IZR dd)) with (IZR dn * IZR N) by (field; lra). exact P1.
  - intros j. apply scaled. destruct (Nat.lt_ge_cases (S j) (length T)) as [H|H].
    + specialize (Pairs j H). unfold threshold_pair in Pairs. booleans. apply (by_factor _ _ gn gd); try assumption; [apply IZR_le, pos|tauto].
    + rewrite nth_overflow by assumption. apply Rmult_le_pos; [lra|apply IZR_le, pos].
  - assert (S : forall w, mean (fun j => IZR (nth j T 0%Z) / IZR N) (fun _ => 1) w = IZR (fold_right Z.add 0%Z (firstn (S w) T)) / IZR N).
    { induction w; cbn [mean]; rewrite sum_first, plus_IZR; [simpl; field; lra|]. rewrite IHw. field. lra. }
    rewrite S. replace (Datatypes.S (length T - 1)) with (length T) by (rewrite ET; simpl; lia). rewrite firstn_all, PS. exact NN.
Qed.

(* ---- Examples, and wrong statements refuted ---- *)
Definition halving (d : Z) : R := if (d <? 0)%Z then 1 else (/ 2) ^ (S (Z.to_nat d)).
Lemma halving_law : (forall d, 0 <= halving d <= 1) /\ (forall d, (d < 0)%Z -> halving d = 1) /\
  (forall d, halving (d + 1)%Z <= halving d) /\ (forall d, halving d <= exp (ln 2) * halving (d + 1)%Z).
Proof.
  assert (R : forall k, 0 < (/ 2) ^ k <= 1) by (induction k; simpl; lra). rewrite exp_ln_2. unfold halving. repeat split.
  - destruct (d <? 0)%Z; [lra|]. left. apply R.
  - destruct (d <? 0)%Z; [lra|apply R].
  - intros d H. apply Z.ltb_lt in H. rewrite H. reflexivity.
  - intros d. destruct (Z.ltb_spec d 0), (Z.ltb_spec (d + 1) 0); try lia; try lra; [apply R|].
    replace (Z.to_nat (d + 1)) with (S (Z.to_nat d)) by lia. pose proof (R (S (Z.to_nat d))). simpl in *. lra.
  - intros d. destruct (Z.ltb_spec d 0), (Z.ltb_spec (d + 1) 0); try lia; try lra.
    + replace (d + 1)%Z with 0%Z by lia. simpl. lra.
    + replace (Z.to_nat (d + 1)) with (S (Z.to_nat d)) by lia. simpl. lra.
Qed.
Definition even_chance (j : nat) : R := match j with O | 1%nat => 1 / 2 | _ => 0 end.
Example session_example : forall queries event ask ask' n, (forall past, close (ask past) (ask' past)) ->
  chance halving queries (fun _ => coin) event 1 even_chance 3 ask law n (ln 2) 0 <=
  exp (0 + 2 * ln 2 * INR 3 + ln 2) * chance halving queries (fun _ => coin) event 1 even_chance 3 ask' law' n (ln 2) 0 + (1 / 2 + 0).
Proof.
  intros. pose proof ln_2_pos. destruct halving_law as (A & B & D & E).
  apply session; try assumption; try lra; try (intros; apply coin_sound); rewrite ?exp_0; try (intros [|[|j]]; simpl; lra); simpl; lra.
Qed.
Example refusal_table_example : forall d, rho_of 1000 (/ 2) d <= exp (ln 2) * rho_of 1000 (/ 2) (d + 1).
Proof. apply (refusal_table 1000 (ln 2) (/ 2)); try lra; [apply ln_2_pos|rewrite exp_minus_ln_2; lra]. Qed.
Example accepted_session_example : good_thresholds 16 2 1 1 16 [1; 2; 4; 8; 1]%Z && good_refusals 16 2 1 [8; 4; 2; 1; 1]%Z = true.
Proof. reflexivity. Qed.
(* Without a delta for W = 0: an answer at distance 0 tells the label. *)
Fact session_mutant : let ask l (_ : transcript) := {| label := l; distance := 0 |} in
  let answered (past : transcript) := match past with answer 0 :: _ => true | _ => false end in
  let law_of l := chance halving (fun _ => true) (fun _ => coin) answered 1 even_chance 1 (ask l) law 1 0 0 in
  (forall past, close (ask 0%nat past) (ask 1%nat past)) /\ ~ law_of 0%nat <= exp (0 + 2 * ln 2 * INR 1 + 0) * law_of 1%nat + 0.
Proof.
  split; [intros; repeat split; simpl; lia|]. unfold chance, halving. simpl. intros H.
  match type of H with _ <= ?e * ?z + 0 => assert (Z0 : z = 0) by (simpl; lra); rewrite Z0 in H end. lra.
Qed.
(* Entries rounded down: at 4, 2, 1, 0 the last one has lost everything. *)
Fact refusal_table_mutant : Zfloor (/ 2 * IZR 1) = 0%Z /\ ~ IZR 1 <= exp (ln 2) * IZR 0.
Proof. rewrite exp_ln_2. split; [apply Zfloor_imp; simpl; lra|lra]. Qed.
(* A threshold that grows too fast, one that leaves something over, and refusals that fall too fast. *)
Fact accepted_session_mutant : good_thresholds 16 2 1 1 16 [1; 3; 4; 8]%Z || good_thresholds 16 2 1 1 16 [1; 2; 4; 8]%Z ||
  good_thresholds 16 2 1 1 16 [2; 4; 8; 2]%Z || good_refusals 16 2 1 [8; 3; 2]%Z || good_refusals 16 2 1 [7; 4; 2]%Z = false.
Proof. reflexivity. Qed.
